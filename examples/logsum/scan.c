#define _POSIX_C_SOURCE 200809L

#include "scan.h"

#include <stdlib.h>
#include <string.h>

struct summary *summary_new(const struct config *config)
{
    struct summary *summary = calloc(1, sizeof *summary);

    if (summary == NULL)
        return NULL;
    summary->config = config;
    summary->alerts.limit = config->alert_limit;
    summary->sources = table_new(free);
    if (summary->sources == NULL)
        goto fail;
    summary->rules = table_new(free);
    if (summary->rules == NULL)
        goto fail;
    return summary;

fail:
    summary_free(summary);
    return NULL;
}

void summary_free(struct summary *summary)
{
    if (summary == NULL)
        return;
    table_free(summary->sources);
    table_free(summary->rules);
    alerts_expire(&summary->alerts, 0);
    free(summary->last_error);
    free(summary);
}

static void count(struct table *table, const char *key, const struct record *record)
{
    struct tally *tally = table_get(table, key);

    if (tally == NULL) {
        tally = xmalloc(sizeof *tally);
        tally->lines = 0;
        tally->errors = 0;
        table_put(table, key, tally);
    }
    tally->lines++;
    if (record->level == LEVEL_ERROR)
        tally->errors++;
}

static int is_dropped(const struct config *config, const struct record *record)
{
    for (size_t i = 0; i < config->drops.count; i++)
        if (strstr(record->message, config->drops.items[i]) != NULL)
            return 1;
    return 0;
}

static void match_rules(struct summary *summary, const struct record *record)
{
    const struct rule *rule;

    for (rule = summary->config->rules; rule != NULL; rule = rule->next) {
        if (strstr(record->message, rule->pattern) == NULL)
            continue;
        count(summary->rules, rule->label != NULL ? rule->label : rule->name, record);
        if (record->level == LEVEL_WARN) {
            struct alert *alert = alert_new(record);

            if (alerts_add(&summary->alerts, alert) != 0)
                alert_free(alert);
        }
    }
}

static void note_record(struct summary *summary, const struct record *record)
{
    summary->by_level[record->level]++;
    count(summary->sources, record->source, record);
    match_rules(summary, record);
    if (record->level == LEVEL_ERROR) {
        struct alert *alert = alert_new(record);

        alerts_add(&summary->alerts, alert);
    } else if (strncmp(record->message, "recovered", 9) == 0) {
        summary->recovered += alerts_resolve(&summary->alerts, record->source);
    }
}

int scan_stream(struct summary *summary, FILE *file)
{
    char *line = NULL;
    char *last_error = NULL;
    size_t size = 0;

    while (getline(&line, &size, file) != -1) {
        struct record *record;
        enum record_status status = record_parse(line, &record);

        if (status == RECORD_EMPTY)
            continue;
        if (status != RECORD_OK) {
            summary->skipped++;
            continue;
        }
        if (record->level < summary->config->min_level) {
            record_free(record);
            continue;
        }
        if (is_dropped(summary->config, record)) {
            summary->skipped++;
            continue;
        }

        note_record(summary, record);
        if (record->level == LEVEL_ERROR)
            last_error = xstrdup(record->time);
        record_free(record);
    }
    free(line);

    if (last_error != NULL) {
        free(summary->last_error);
        summary->last_error = last_error;
    }
    return ferror(file) ? -1 : 0;
}
