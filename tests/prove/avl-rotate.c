/* A rotation to the right. */
#include "list.h"

Tree *rotate_right(Tree *root)
{
    Tree *pivot = root->left;
    root->left = pivot->right;
    pivot->right = root;
    return pivot;
}
