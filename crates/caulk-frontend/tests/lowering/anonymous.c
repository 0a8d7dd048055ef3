/* Nameless structures of variables: LLVM calls them all the same, debug info knows the line. */
static struct {
    char *name;
    int size;
} state;

static struct {
    long count;
    void *list;
} counters[4];

void *reset(int i, _Bool keep) {
    struct {
        int used;
        void *kept;
    } local = {i, keep ? counters[i].list : 0};
    state.size = local.used;
    counters[i].list = 0;
    return local.kept;
}
