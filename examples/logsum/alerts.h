#ifndef LOGSUM_ALERTS_H
#define LOGSUM_ALERTS_H

#include <stddef.h>

struct record;

/* Something that is wrong with a source until the source says it has recovered. */
struct alert {
    char *source;
    char *text;
    struct alert *next;
};

/* Newest first, never more than `limit`. */
struct alerts {
    struct alert *head;
    size_t count;
    size_t limit;
};

struct alert *alert_new(const struct record *record);
void alert_free(struct alert *alert);

/* Takes `alert` and returns 0, or returns -1 when the list is full. */
int alerts_add(struct alerts *alerts, struct alert *alert);

/* Closes the alerts of one source; returns how many there were. */
size_t alerts_resolve(struct alerts *alerts, const char *source);

/* Drops the oldest alerts until `keep` are left. */
void alerts_expire(struct alerts *alerts, size_t keep);

#endif
