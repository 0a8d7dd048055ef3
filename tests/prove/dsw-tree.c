/* Deutsch-Schorr-Waite on a tree: three visits of each node, each rotating its links (Lindstrom's form). */
#include "list.h"

Tree *visit(Tree *root)
{
    Tree *prev = NULL;
    Tree *at = root;
    if (root == NULL)
        return NULL;
    while (at != NULL) {
        Tree *next = at->left;
        Tree *other = at->right;
        at->right = prev;
        at->left = other;
        at->mark = at->mark + 1;
        if (at->mark == 3 || next != NULL) {
            prev = at;
            at = next;
        } else {
            prev = at;
            at = other;
            Tree *left = prev->left;
            prev->left = prev->right;
            prev->right = left;
        }
    }
    return prev;
}
