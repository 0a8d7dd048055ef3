/* Turns a list around by recursion, with what is done so far as second argument. */
#include "list.h"

static List *reverse_onto(List *list, List *done)
{
    if (list == NULL)
        return done;
    List *rest = list->next;
    list->next = done;
    return reverse_onto(rest, list);
}

List *reverse(List *list)
{
    return reverse_onto(list, NULL);
}
