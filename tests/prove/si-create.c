/* A list of n cells, made front to back by pushing. */
#include "list.h"

List *create(int n)
{
    List *head = NULL;
    while (n > 0) {
        List *cell = malloc(sizeof *cell);
        if (cell == NULL)
            return head;
        cell->data = n;
        cell->next = head;
        head = cell;
        n--;
    }
    return head;
}
