/* Steps into structures name the field; nested and nameless ones too. */
struct point {
    int x, y;
};

struct shape {
    struct shape *next;
    struct point corner[2];
    union {
        struct point *point;
        char *text;
    };
    struct {
        long tag;
        void *extra;
    } rest;
    char name[];
};

typedef struct {
    struct shape *head;
    struct {
        int used;
        struct shape *last;
    };
} list;

int fields(struct shape *s, list *l) {
    s->next->corner[1].y = 7;
    s->point = &s->corner[0];
    s->text = s->name;
    s->rest.extra = s;
    l->head = s;
    l->last = s->next;
    return s->name[2] + l->used;
}
