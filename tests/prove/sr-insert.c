/* Puts a new value into a sorted list, by recursion. */
#include "list.h"

static List *insert_from(List *list, List *cell)
{
    if (list == NULL || list->data >= cell->data) {
        cell->next = list;
        return cell;
    }
    List *rest = list->next;
    list->next = insert_from(rest, cell);
    return list;
}

List *insert(List *list, int value)
{
    List *cell = malloc(sizeof *cell);
    if (cell == NULL)
        return list;
    cell->data = value;
    cell->next = NULL;
    return insert_from(list, cell);
}
