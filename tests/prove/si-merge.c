/* Merges two sorted lists in place. */
#include "list.h"

List *merge(List *a, List *b)
{
    List *head, *last;
    if (a == NULL)
        return b;
    if (b == NULL)
        return a;
    if (a->data <= b->data) {
        head = a;
        a = a->next;
    } else {
        head = b;
        b = b->next;
    }
    last = head;
    while (a != NULL && b != NULL) {
        if (a->data <= b->data) {
            last->next = a;
            last = a;
            a = a->next;
        } else {
            last->next = b;
            last = b;
            b = b->next;
        }
    }
    if (a != NULL)
        last->next = a;
    else
        last->next = b;
    return head;
}
