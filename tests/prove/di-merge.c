/* Merges two sorted doubly linked lists behind a cell on the stack. */
#include "list.h"

DList *merge(DList *a, DList *b)
{
    DList head;
    DList *last = &head;
    DList *before = NULL;
    head.next = NULL;
    while (a != NULL && b != NULL) {
        if (a->data <= b->data) {
            last->next = a;
            a = a->next;
        } else {
            last->next = b;
            b = b->next;
        }
        last = last->next;
        last->prev = before; // leaks for some input: prev may be the only link to a cell
        before = last;
    }
    last->next = a != NULL ? a : b;
    if (last->next != NULL)
        last->next->prev = before; // leaks for some input: as above
    return head.next;
}
