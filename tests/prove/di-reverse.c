/* Turns a doubly linked list around by swapping both links of every cell. */
#include "list.h"

DList *reverse(DList *list)
{
    DList *last = NULL;
    while (list != NULL) {
        last = list;
        list = last->next;
        last->next = last->prev;
        last->prev = list;
    }
    return last;
}
