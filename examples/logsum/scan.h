#ifndef LOGSUM_SCAN_H
#define LOGSUM_SCAN_H

#include "alerts.h"
#include "config.h"
#include "table.h"

#include <stdio.h>

/* What is counted per source and per rule. */
struct tally {
    unsigned long lines;
    unsigned long errors;
};

struct summary {
    const struct config *config;
    unsigned long by_level[LEVEL_COUNT];
    unsigned long skipped;
    unsigned long recovered;
    struct table *sources;
    struct table *rules;
    struct alerts alerts;
    char *last_error;
};

/* NULL when there is no memory. `config` is borrowed and must outlive the summary. */
struct summary *summary_new(const struct config *config);
void summary_free(struct summary *summary);

/* Reads a log to its end. Returns 0, or -1 when it could not be read. */
int scan_stream(struct summary *summary, FILE *file);

#endif
