/* Insertion into a balanced tree. */
#include "list.h"

static int height(const Tree *t)
{
    return t == NULL ? 0 : t->height;
}

static void measure(Tree *t)
{
    int left = height(t->left);
    int right = height(t->right);
    t->height = 1 + (left > right ? left : right);
}

static Tree *rotate_right(Tree *root)
{
    Tree *pivot = root->left;
    root->left = pivot->right;
    pivot->right = root;
    measure(root);
    measure(pivot);
    return pivot;
}

static Tree *rotate_left(Tree *root)
{
    Tree *pivot = root->right;
    root->right = pivot->left;
    pivot->left = root;
    measure(root);
    measure(pivot);
    return pivot;
}

static Tree *balance(Tree *root)
{
    int difference = height(root->left) - height(root->right);
    if (difference > 1) {
        Tree *left = root->left;
        if (height(left->left) < height(left->right))
            root->left = rotate_left(left);
        return rotate_right(root);
    }
    if (difference < -1) {
        Tree *right = root->right;
        if (height(right->right) < height(right->left))
            root->right = rotate_right(right);
        return rotate_left(root);
    }
    measure(root);
    return root;
}

static Tree *insert_below(Tree *root, int key)
{
    if (root == NULL) {
        Tree *leaf = malloc(sizeof *leaf);
        if (leaf == NULL)
            return NULL;
        leaf->key = key;
        leaf->height = 1;
        leaf->left = NULL;
        leaf->right = NULL;
        return leaf;
    }
    if (key < root->key) {
        Tree *left = root->left;
        root->left = insert_below(left, key);
    } else if (key > root->key) {
        Tree *right = root->right;
        root->right = insert_below(right, key);
    } else {
        return root;
    }
    return balance(root);
}

Tree *insert(Tree *root, int key)
{
    return insert_below(root, key);
}
