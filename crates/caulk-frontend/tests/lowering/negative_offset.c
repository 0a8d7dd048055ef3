/* From a member back to what holds it: the offset is negative, the base still the same object. */
#define container_of(at, type, member) ((type *)((char *)(at) - __builtin_offsetof(type, member)))
void free(void *);

struct link {
    struct link *next;
};

struct entry {
    long key;
    struct link link;
};

struct header {
    unsigned len, alloc;
    char text[];
};

void drop(struct link *at) {
    struct entry *e = container_of(at, struct entry, link);
    e->key = 0;
    free(e);
}

unsigned length(char *s) { return ((struct header *)(s - sizeof(struct header)))[0].len + ((int *)s)[-1]; }

unsigned long tagged(void *p) { return (unsigned long)p | 1; }
