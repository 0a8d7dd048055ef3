/* Takes a cell out of a doubly linked list and frees it. */
#include "list.h"

DList *delete(DList *list, DList *cell)
{
    DList *next = cell->next;
    DList *prev = cell->prev;
    if (prev != NULL)
        prev->next = next; // leaks for some input: prev->next need not be cell
    if (next != NULL)
        next->prev = prev; // leaks for some input: next->prev need not be cell
    if (cell == list)
        list = next;
    free(cell);
    return list;
}
