/* Appends a list to another, walking to the end by recursion. */
#include "list.h"

static void append_behind(List *cell, List *tail)
{
    if (cell->next == NULL)
        cell->next = tail;
    else
        append_behind(cell->next, tail);
}

List *append(List *list, List *tail)
{
    if (list == NULL)
        return tail;
    append_behind(list, tail);
    return list;
}
