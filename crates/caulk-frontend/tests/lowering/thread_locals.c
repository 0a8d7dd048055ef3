/* Thread-local variables are globals with a mark. */
static _Thread_local char *buffer;
extern __thread int depth;

char *get(void) {
    depth++;
    return buffer;
}
