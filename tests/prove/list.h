/* The structures of all routines here. */
#include <stdlib.h>

typedef struct list {
    int data;
    struct list *next;
} List;

typedef struct dlist {
    int data;
    struct dlist *next;
    struct dlist *prev;
} DList;

typedef struct tree {
    int key;
    int height;
    int mark;
    struct tree *left;
    struct tree *right;
} Tree;
