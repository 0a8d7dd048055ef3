#include "table.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 64

struct entry {
    char *key;
    void *value;
    struct entry *next;
};

struct table {
    struct entry *buckets[BUCKETS];
    size_t count;
    void (*free_value)(void *);
};

static unsigned hash(const char *key)
{
    unsigned h = 5381;

    while (*key != '\0')
        h = h * 33 + (unsigned char)*key++;
    return h % BUCKETS;
}

static struct entry *find(const struct table *table, const char *key)
{
    struct entry *entry = table->buckets[hash(key)];

    while (entry != NULL && strcmp(entry->key, key) != 0)
        entry = entry->next;
    return entry;
}

struct table *table_new(void (*free_value)(void *))
{
    struct table *table = calloc(1, sizeof *table);

    if (table == NULL)
        return NULL;
    table->free_value = free_value;
    return table;
}

void table_free(struct table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        struct entry *entry = table->buckets[i];

        while (entry != NULL) {
            struct entry *next = entry->next;

            table->free_value(entry->value);
            free(entry->key);
            free(entry);
            entry = next;
        }
    }
    free(table);
}

void *table_get(const struct table *table, const char *key)
{
    struct entry *entry = find(table, key);

    return entry != NULL ? entry->value : NULL;
}

void table_put(struct table *table, const char *key, void *value)
{
    struct entry *entry = find(table, key);

    if (entry != NULL) {
        table->free_value(entry->value);
        entry->value = value;
        return;
    }
    entry = xmalloc(sizeof *entry);
    entry->key = xstrdup(key);
    entry->value = value;
    entry->next = table->buckets[hash(key)];
    table->buckets[hash(key)] = entry;
    table->count++;
}

size_t table_count(const struct table *table)
{
    return table->count;
}

void table_each(const struct table *table,
                void (*visit)(const char *key, void *value, void *context), void *context)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct entry *entry = table->buckets[i]; entry != NULL; entry = entry->next)
            visit(entry->key, entry->value, context);
}
