#include "alerts.h"
#include "record.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

struct alert *alert_new(const struct record *record)
{
    struct alert *alert = xmalloc(sizeof *alert);

    alert->source = xstrdup(record->source);
    alert->text = xstrdup(record->message);
    alert->next = NULL;
    return alert;
}

void alert_free(struct alert *alert)
{
    if (alert == NULL)
        return;
    free(alert->source);
    free(alert->text);
    free(alert);
}

int alerts_add(struct alerts *alerts, struct alert *alert)
{
    if (alerts->count >= alerts->limit)
        return -1;
    alert->next = alerts->head;
    alerts->head = alert;
    alerts->count++;
    return 0;
}

size_t alerts_resolve(struct alerts *alerts, const char *source)
{
    struct alert **link = &alerts->head;
    size_t resolved = 0;

    while (*link != NULL) {
        struct alert *alert = *link;

        if (strcmp(alert->source, source) == 0) {
            *link = alert->next;
            alerts->count--;
            resolved++;
        } else {
            link = &alert->next;
        }
    }
    return resolved;
}

void alerts_expire(struct alerts *alerts, size_t keep)
{
    struct alert **link = &alerts->head;

    for (size_t i = 0; i < keep && *link != NULL; i++)
        link = &(*link)->next;
    while (*link != NULL) {
        struct alert *alert = *link;

        *link = alert->next;
        alert_free(alert);
        alerts->count--;
    }
}
