/* The cleanup attribute arrives as a call on every way out of the scope. */
void free(void *);
void *malloc(unsigned long);
int use(char *);

static void free_it(char **p) { free(*p); }

int automatic(int n) {
    __attribute__((cleanup(free_it))) char *p = malloc(n);
    if (n > 3)
        return use(p);
    for (;;) {
        __attribute__((cleanup(free_it))) char *q = malloc(n);
        if (use(q))
            break;
    }
    return 0;
}
