/* Deutsch-Schorr-Waite on a list: walks to the end turning links around, and back setting them right. */
#include "list.h"

List *visit(List *list)
{
    List *at = list;
    List *back = NULL;
    while (at != NULL) {
        List *next = at->next;
        at->next = back;
        back = at;
        at = next;
    }
    at = NULL;
    while (back != NULL) {
        List *next = back->next;
        back->next = at;
        at = back;
        back = next;
    }
    return at;
}
