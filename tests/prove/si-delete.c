/* Takes the first cell with a value out of a list and frees it. */
#include "list.h"

List *delete(List *list, int value)
{
    List *at = list;
    List *before = NULL;
    while (at != NULL && at->data != value) {
        before = at;
        at = at->next;
    }
    if (at == NULL)
        return list;
    List *rest = at->next;
    if (before == NULL)
        list = rest;
    else
        before->next = rest;
    free(at);
    return list;
}
