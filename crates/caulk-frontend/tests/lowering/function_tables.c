/* Tables of function pointers: initialisers keep every pointer with its offset. */
struct operations {
    int (*open)(const char *);
    void (*close)(int);
    const struct operations *parent;
    int flags;
};

static int open_file(const char *path) { return path[0]; }
void close_file(int);

static const struct operations base = {.close = close_file};
struct operations file_operations = {open_file, close_file, &base, 7};
void (*const hooks[3])(int) = {0, close_file};
int (**slot)(const char *) = &file_operations.open;

int dispatch(const struct operations *o, int i) {
    hooks[i](i);
    if (o->parent)
        o->parent->close(1);
    return o->open("x");
}
