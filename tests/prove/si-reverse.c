/* Turns a list around in place. */
#include "list.h"

List *reverse(List *list)
{
    List *done = NULL;
    while (list != NULL) {
        List *rest = list->next;
        list->next = done;
        done = list;
        list = rest;
    }
    return done;
}
