#ifndef LOGSUM_CONFIG_H
#define LOGSUM_CONFIG_H

#include "record.h"
#include "util.h"

enum config_status { CONFIG_OK, CONFIG_SYNTAX, CONFIG_BAD_VALUE, CONFIG_NO_FILE };

/* Lines that contain `pattern` are counted under `name`, shown as `label` if there is one. */
struct rule {
    char *name;
    char *pattern;
    char *label;
    struct rule *next;
};

struct config {
    char *title;
    char *format;
    size_t width;
    size_t alert_limit;
    enum level min_level;
    struct rule *rules;
    struct strvec drops;
};

/*
 * On CONFIG_OK `*out` belongs to the caller. Otherwise it is not written, and
 * `*bad_line` is the number of the line at fault.
 */
enum config_status config_load(const char *path, struct config **out, unsigned *bad_line);

/* The settings used without a file. */
struct config *config_default(void);
void config_free(struct config *config);

const char *config_error(enum config_status status);

#endif
