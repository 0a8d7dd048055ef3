/* Puts a new value into a sorted list. */
#include "list.h"

List *insert(List *list, int value)
{
    List *cell = malloc(sizeof *cell);
    if (cell == NULL)
        return list;
    cell->data = value;
    List *at = list;
    List *before = NULL;
    while (at != NULL && at->data < value) {
        before = at;
        at = at->next;
    }
    cell->next = at;
    if (before == NULL)
        return cell;
    before->next = cell;
    return list;
}
