/* A call that does not come back ends its path; so does unreachable code. */
void exit(int) __attribute__((noreturn));
void *malloc(unsigned long);

void *must(unsigned long n) {
    void *p = malloc(n);
    if (!p)
        exit(1);
    switch (n) {
    case 1:
        return p;
    case 2:
        __builtin_trap();
    default:
        __builtin_unreachable();
    }
}

int check(int *p) {
    int found = p ? *p : (__builtin_trap(), 0);
    if (found < 0)
        __builtin_trap();
    return found;
}
