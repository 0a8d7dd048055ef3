/* Puts a new cell in front of a cell of a doubly linked list. */
#include "list.h"

DList *prepend(DList *list, int value)
{
    DList *cell = malloc(sizeof *cell);
    if (cell == NULL)
        return list;
    cell->data = value;
    cell->next = list;
    cell->prev = NULL;
    if (list != NULL) {
        if (list->prev != NULL) {
            cell->prev = list->prev;
            list->prev->next = cell; // leaks for some input: list->prev->next need not be list
        }
        list->prev = cell;
    }
    return cell;
}
