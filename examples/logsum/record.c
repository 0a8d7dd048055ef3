#include "record.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

static const char *const level_names[LEVEL_COUNT] = {"DEBUG", "INFO", "WARN", "ERROR"};

struct record *record_new(void)
{
    return calloc(1, sizeof(struct record));
}

void record_free(struct record *record)
{
    if (record == NULL)
        return;
    free(record->time);
    free(record->source);
    free(record->message);
    free(record);
}

const char *level_name(enum level level)
{
    return level_names[level];
}

int level_parse(const char *name, enum level *out)
{
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(level_names[i], name) == 0) {
            *out = (enum level)i;
            return 0;
        }
    }
    return -1;
}

/* Cuts the next word off a writable line; the word stays part of the line. */
static char *next_word(char **cursor)
{
    char *word = *cursor + strspn(*cursor, " \t");
    char *end = word + strcspn(word, " \t");

    if (word == end)
        return NULL;
    if (*end != '\0')
        *end++ = '\0';
    *cursor = end;
    return word;
}

enum record_status record_parse(const char *line, struct record **out)
{
    enum record_status status = RECORD_MALFORMED;
    struct record *record = NULL;
    char *copy, *cursor, *time, *level, *source;

    line = skip_blanks(line);
    if (*line == '\0')
        return RECORD_EMPTY;

    copy = xstrndup(line, strcspn(line, "\r\n"));
    cursor = copy;
    record = record_new();
    if (record == NULL) {
        status = RECORD_NO_MEMORY;
        goto done;
    }

    time = next_word(&cursor);
    level = next_word(&cursor);
    source = next_word(&cursor);
    if (time == NULL || level == NULL || source == NULL)
        goto done;
    if (level_parse(level, &record->level) != 0)
        goto done;

    record->time = xstrdup(time);
    record->source = xstrdup(source);
    record->message = xstrdup(skip_blanks(cursor));
    *out = record;
    record = NULL;
    status = RECORD_OK;

done:
    record_free(record);
    free(copy);
    return status;
}
