#ifndef LOGSUM_REPORT_H
#define LOGSUM_REPORT_H

#include "scan.h"

#include <stdio.h>

/* One way to print a report. `open` returns the state that the others are given. */
struct format {
    const char *name;
    void *(*open)(FILE *out, const struct config *config);
    int (*row)(void *state, const char *group, const char *label, unsigned long lines,
               unsigned long errors);
    void (*close)(void *state);
};

/* NULL when there is no format of that name. */
const struct format *format_find(const char *name);

/* Returns 0, or -1 when the report could not be written whole. */
int report_write(const struct format *format, FILE *out, const struct summary *summary);

#endif
