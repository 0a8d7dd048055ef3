#define _POSIX_C_SOURCE 200809L

#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *config_error(enum config_status status)
{
    switch (status) {
    case CONFIG_OK:
        return "no error";
    case CONFIG_SYNTAX:
        return "cannot understand this line";
    case CONFIG_BAD_VALUE:
        return "value not allowed here";
    case CONFIG_NO_FILE:
        return "cannot open the file";
    }
    return "unknown error";
}

static void rule_free(struct rule *rule)
{
    free(rule->name);
    free(rule->pattern);
    free(rule);
}

struct config *config_default(void)
{
    struct config *config = xmalloc(sizeof *config);

    memset(config, 0, sizeof *config);
    config->format = xstrdup("text");
    config->width = 24;
    config->alert_limit = 16;
    config->min_level = LEVEL_INFO;
    return config;
}

void config_free(struct config *config)
{
    if (config == NULL)
        return;
    while (config->rules != NULL) {
        struct rule *rule = config->rules;

        config->rules = rule->next;
        rule_free(rule);
    }
    strvec_clear(&config->drops);
    free(config->title);
    free(config->format);
    free(config);
}

/* Copies the next word, or the text between double quotes; NULL if there is none. */
static char *next_word(const char **cursor)
{
    const char *start = skip_blanks(*cursor);
    size_t length;

    if (*start == '"') {
        start++;
        length = strcspn(start, "\"\n");
        if (start[length] != '"')
            return NULL;
        *cursor = start + length + 1;
    } else {
        length = strcspn(start, " \t\r\n=");
        if (length == 0)
            return NULL;
        *cursor = start + length;
    }
    return xstrndup(start, length);
}

static int parse_size(const char *text, size_t *out)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value >= (size_t)-1)
        return -1;
    *out = (size_t)value;
    return 0;
}

static enum config_status parse_setting(struct config *config, const char *key, const char *cursor)
{
    int failed;
    char *value;

    cursor = skip_blanks(cursor);
    if (*cursor != '=')
        return CONFIG_SYNTAX;
    cursor++;
    value = next_word(&cursor);
    if (value == NULL)
        return CONFIG_SYNTAX;
    if (*skip_blanks(cursor) != '\0')
        return CONFIG_SYNTAX;

    if (strcmp(key, "title") == 0) {
        free(config->title);
        config->title = value;
        return CONFIG_OK;
    }
    if (strcmp(key, "format") == 0) {
        free(config->format);
        config->format = value;
        return CONFIG_OK;
    }

    if (strcmp(key, "width") == 0)
        failed = parse_size(value, &config->width);
    else if (strcmp(key, "alerts") == 0)
        failed = parse_size(value, &config->alert_limit);
    else if (strcmp(key, "level") == 0)
        failed = level_parse(value, &config->min_level);
    else
        failed = -1;
    free(value);
    return failed ? CONFIG_BAD_VALUE : CONFIG_OK;
}

/* rule NAME PATTERN [as LABEL] */
static enum config_status parse_rule(struct config *config, const char *cursor)
{
    enum config_status status = CONFIG_SYNTAX;
    char *name = next_word(&cursor);
    char *pattern = next_word(&cursor);
    char *as = NULL;
    char *label = NULL;
    struct rule *rule;

    if (name == NULL || pattern == NULL)
        goto done;
    as = next_word(&cursor);
    if (as != NULL) {
        if (strcmp(as, "as") != 0)
            goto done;
        label = next_word(&cursor);
        if (label == NULL)
            goto done;
    }
    if (*skip_blanks(cursor) != '\0')
        goto done;

    rule = xmalloc(sizeof *rule);
    rule->name = name;
    rule->pattern = pattern;
    rule->label = label;
    rule->next = config->rules;
    config->rules = rule;
    name = pattern = label = NULL;
    status = CONFIG_OK;

done:
    free(label);
    free(as);
    free(pattern);
    free(name);
    return status;
}

static enum config_status parse_drop(struct config *config, const char *cursor)
{
    char *pattern = next_word(&cursor);

    if (pattern == NULL || *skip_blanks(cursor) != '\0') {
        free(pattern);
        return CONFIG_SYNTAX;
    }
    if (strvec_push(&config->drops, pattern) != 0) {
        free(pattern);
        return CONFIG_BAD_VALUE;
    }
    return CONFIG_OK;
}

static enum config_status parse_line(struct config *config, const char *line)
{
    enum config_status status;
    const char *cursor = skip_blanks(line);
    char *word;

    if (*cursor == '\0' || *cursor == '#')
        return CONFIG_OK;
    word = next_word(&cursor);
    if (word == NULL)
        return CONFIG_SYNTAX;

    if (strcmp(word, "rule") == 0)
        status = parse_rule(config, cursor);
    else if (strcmp(word, "drop") == 0)
        status = parse_drop(config, cursor);
    else
        status = parse_setting(config, word, cursor);
    free(word);
    return status;
}

enum config_status config_load(const char *path, struct config **out, unsigned *bad_line)
{
    enum config_status status = CONFIG_OK;
    struct config *config;
    char *line = NULL;
    size_t size = 0;
    FILE *file;

    *bad_line = 0;
    file = fopen(path, "r");
    if (file == NULL)
        return CONFIG_NO_FILE;

    config = config_default();
    while (status == CONFIG_OK && getline(&line, &size, file) != -1) {
        ++*bad_line;
        status = parse_line(config, line);
    }
    if (status == CONFIG_OK)
        *out = config;
    else
        config_free(config);
    free(line);
    fclose(file);
    return status;
}
