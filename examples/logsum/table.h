#ifndef LOGSUM_TABLE_H
#define LOGSUM_TABLE_H

#include <stddef.h>

/* A hash table from strings to values. It copies keys and owns the values. */
struct table;

/* NULL when there is no memory. */
struct table *table_new(void (*free_value)(void *));
void table_free(struct table *table);

void *table_get(const struct table *table, const char *key);

/* Takes `value`; a value already stored under `key` is freed. */
void table_put(struct table *table, const char *key, void *value);

size_t table_count(const struct table *table);
void table_each(const struct table *table,
                void (*visit)(const char *key, void *value, void *context), void *context);

#endif
