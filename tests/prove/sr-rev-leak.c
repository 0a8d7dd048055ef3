/* As sr-reverse, but the cell is cut off before the rest is remembered. */
#include "list.h"

static List *reverse_onto(List *list, List *done)
{
    if (list == NULL)
        return done;
    list->next = NULL; // leaks: the rest of the list
    List *rest = list->next;
    list->next = done;
    return reverse_onto(rest, list);
}

List *reverse(List *list)
{
    return reverse_onto(list, NULL);
}
