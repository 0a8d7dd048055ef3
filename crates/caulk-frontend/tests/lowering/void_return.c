/* A function without a result: early returns are told from the closing brace. */
void *malloc(unsigned long);
void free(void *);
int full(void *);

void early(int n) {
    void *p = malloc(n);
    if (full(p))
        return;
    if (n > 3) {
        free(p);
    } else if (n > 2) {
        full(p);
        return;
    }
}

void falls_off(int n) {
    if (n)
        full(0);
}
