#ifndef LOGSUM_UTIL_H
#define LOGSUM_UTIL_H

#include <stddef.h>

/* Allocation that does not come back without memory: prints a message and exits. */
void *xmalloc(size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);

/* A growing array of strings. It owns the strings it holds. */
struct strvec {
    char **items;
    size_t count;
    size_t capacity;
};

/* Takes `text` and returns 0, or returns -1 and leaves `text` with the caller. */
int strvec_push(struct strvec *vec, char *text);
void strvec_clear(struct strvec *vec);

const char *skip_blanks(const char *cursor);

#endif
