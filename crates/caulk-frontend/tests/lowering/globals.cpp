// Globals with constructors are set up by a function that runs at the start; static locals by a guard.
struct registry {
    registry();
    ~registry();
    int *list;
};

static registry everything;
thread_local int *cache = new int;

registry &get() {
    static registry local;
    return local;
}

int *peek() { return cache; }
