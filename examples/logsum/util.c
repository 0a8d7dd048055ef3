#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *xmalloc(size_t size)
{
    void *memory = malloc(size);

    if (memory == NULL) {
        fprintf(stderr, "logsum: out of memory (%zu bytes wanted)\n", size);
        exit(EXIT_FAILURE);
    }
    return memory;
}

char *xstrndup(const char *text, size_t length)
{
    char *copy = xmalloc(length + 1);

    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *xstrdup(const char *text)
{
    return xstrndup(text, strlen(text));
}

int strvec_push(struct strvec *vec, char *text)
{
    if (vec->count == vec->capacity) {
        size_t capacity = vec->capacity ? 2 * vec->capacity : 4;
        char **grown = realloc(vec->items, capacity * sizeof *grown);

        if (grown == NULL)
            return -1;
        vec->items = grown;
        vec->capacity = capacity;
    }
    vec->items[vec->count++] = text;
    return 0;
}

void strvec_clear(struct strvec *vec)
{
    for (size_t i = 0; i < vec->count; i++)
        free(vec->items[i]);
    free(vec->items);
    vec->items = NULL;
    vec->count = 0;
    vec->capacity = 0;
}

const char *skip_blanks(const char *cursor)
{
    while (*cursor == ' ' || *cursor == '\t' || *cursor == '\r' || *cursor == '\n')
        cursor++;
    return cursor;
}
