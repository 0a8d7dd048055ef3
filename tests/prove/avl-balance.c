/* Brings a tree whose sides differ by two back into balance. */
#include "list.h"

static int height(const Tree *t)
{
    return t == NULL ? 0 : t->height;
}

static Tree *rotate_right(Tree *root)
{
    Tree *pivot = root->left;
    root->left = pivot->right;
    pivot->right = root;
    return pivot;
}

static Tree *rotate_left(Tree *root)
{
    Tree *pivot = root->right;
    root->right = pivot->left;
    pivot->left = root;
    return pivot;
}

Tree *balance(Tree *root)
{
    int difference = height(root->left) - height(root->right);
    if (difference > 1) {
        Tree *left = root->left;
        if (height(left->left) < height(left->right)) {
            left = rotate_left(left);
            root->left = left;
        }
        return rotate_right(root);
    }
    if (difference < -1) {
        Tree *right = root->right;
        if (height(right->right) < height(right->left)) {
            right = rotate_right(right);
            root->right = right;
        }
        return rotate_left(root);
    }
    return root;
}
