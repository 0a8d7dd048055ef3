/* Every return statement has a return of its own, placed at the statement, with the ends of the scopes it leaves. */
void *malloc(unsigned long);
void free(void *);
int use(void *);

int nested(int n) {
    char *outer = malloc(n);
    if (!outer)
        return -1;
    while (n > 0) {
        char *inner = malloc(n);
        if (!inner)
            return -2;
        if (use(inner))
            break;
        if (use(outer)) {
            int again = use(outer);
            if (again)
                continue;
            return again;
        }
        free(inner);
        n--;
    }
    free(outer);
    return n;
}
