#ifndef LOGSUM_RECORD_H
#define LOGSUM_RECORD_H

enum level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR, LEVEL_COUNT };

enum record_status {
    RECORD_OK,
    RECORD_EMPTY,
    RECORD_MALFORMED,
    RECORD_NO_MEMORY,
};

/* One line of a log: "TIME LEVEL SOURCE MESSAGE". */
struct record {
    enum level level;
    char *time;
    char *source;
    char *message;
};

/* NULL when there is no memory. */
struct record *record_new(void);
void record_free(struct record *record);

/* On RECORD_OK `*out` belongs to the caller; otherwise it is not written. */
enum record_status record_parse(const char *line, struct record **out);

const char *level_name(enum level level);
int level_parse(const char *name, enum level *out);

#endif
