#include "report.h"

#include <stdlib.h>
#include <string.h>

struct text_state {
    FILE *out;
    size_t width;
    char *group;
};

struct csv_state {
    FILE *out;
};

struct row {
    const char *label;
    const struct tally *tally;
};

struct rows {
    struct row *items;
    size_t count;
};

/* The label, filled up with blanks to `width`. */
static char *pad(const char *label, size_t width)
{
    size_t used = strlen(label);
    char *cell = malloc(used + 1);

    if (cell == NULL)
        return NULL;
    memcpy(cell, label, used + 1);
    if (used < width) {
        cell = realloc(cell, width + 1);
        if (cell == NULL)
            return NULL;
        memset(cell + used, ' ', width - used);
        cell[width] = '\0';
    }
    return cell;
}

static void *text_open(FILE *out, const struct config *config)
{
    struct text_state *state = malloc(sizeof *state);

    if (state == NULL)
        return NULL;
    state->out = out;
    state->width = config->width;
    state->group = NULL;
    return state;
}

static int text_row(void *opaque, const char *group, const char *label, unsigned long lines,
                    unsigned long errors)
{
    struct text_state *state = opaque;
    char *cell;

    if (state->group == NULL || strcmp(state->group, group) != 0) {
        free(state->group);
        state->group = xstrdup(group);
        fprintf(state->out, "\n%s\n", group);
    }
    cell = pad(label, state->width);
    if (cell == NULL)
        return -1;
    fprintf(state->out, "  %s %6lu lines %6lu errors\n", cell, lines, errors);
    free(cell);
    return 0;
}

static void text_close(void *opaque)
{
    struct text_state *state = opaque;

    free(state->group);
    free(state);
}

static void *csv_open(FILE *out, const struct config *config)
{
    struct csv_state *state = malloc(sizeof *state);

    (void)config;
    if (state == NULL)
        return NULL;
    state->out = out;
    fputs("group,label,lines,errors\n", out);
    return state;
}

static int csv_row(void *opaque, const char *group, const char *label, unsigned long lines,
                   unsigned long errors)
{
    struct csv_state *state = opaque;

    return fprintf(state->out, "%s,%s,%lu,%lu\n", group, label, lines, errors) < 0 ? -1 : 0;
}

static const struct format formats[] = {
    {"text", text_open, text_row, text_close},
    {"csv", csv_open, csv_row, free},
};

const struct format *format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static void collect(const char *key, void *value, void *context)
{
    struct rows *rows = context;

    rows->items[rows->count].label = key;
    rows->items[rows->count].tally = value;
    rows->count++;
}

static int by_lines(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;

    if (left->tally->lines != right->tally->lines)
        return left->tally->lines < right->tally->lines ? 1 : -1;
    return strcmp(left->label, right->label);
}

static int write_group(const struct format *format, void *state, const char *group,
                       const struct table *table)
{
    struct rows rows = {NULL, 0};
    int failed = 0;

    if (table_count(table) > 0) {
        rows.items = xmalloc(table_count(table) * sizeof *rows.items);
        table_each(table, collect, &rows);
        qsort(rows.items, rows.count, sizeof *rows.items, by_lines);
    }
    for (size_t i = 0; i < rows.count && !failed; i++) {
        const struct row *row = &rows.items[i];

        failed = format->row(state, group, row->label, row->tally->lines, row->tally->errors);
    }
    if (table_count(table) > 0)
        free(rows.items);
    return failed;
}

static void write_notes(FILE *out, const struct summary *summary)
{
    const struct alert *alert;

    fputc('\n', out);
    for (int level = summary->config->min_level; level < LEVEL_COUNT; level++)
        fprintf(out, "%s %lu  ", level_name((enum level)level), summary->by_level[level]);
    fprintf(out, "skipped %lu  recovered %lu\n", summary->skipped, summary->recovered);
    if (summary->last_error != NULL)
        fprintf(out, "last error at %s\n", summary->last_error);
    for (alert = summary->alerts.head; alert != NULL; alert = alert->next)
        fprintf(out, "open alert: %s: %s\n", alert->source, alert->text);
}

int report_write(const struct format *format, FILE *out, const struct summary *summary)
{
    const char *title = summary->config->title;
    int is_text = strcmp(format->name, "text") == 0;
    char *underline = NULL;
    void *state;
    int status = -1;

    if (is_text && title != NULL) {
        size_t length = strlen(title);

        underline = xmalloc(length + 1);
        memset(underline, '=', length);
        underline[length] = '\0';
        fprintf(out, "%s\n%s\n", title, underline);
    }

    state = format->open(out, summary->config);
    if (state == NULL)
        goto done;
    if (write_group(format, state, "sources", summary->sources) != 0)
        goto close;
    if (write_group(format, state, "rules", summary->rules) != 0)
        goto close;
    if (is_text)
        write_notes(out, summary);
    status = ferror(out) ? -1 : 0;

close:
    format->close(state);
done:
    if (is_text && title != NULL)
        free(underline);
    return status;
}
