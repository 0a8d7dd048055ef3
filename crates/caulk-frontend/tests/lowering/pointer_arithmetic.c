/* Pointers move by elements; their differences are numbers. */
struct pair {
    long a, b;
};

long walk(const char *s, struct pair *p, struct pair *end) {
    const char *start = s;
    while (*s++)
        ;
    for (p += 2; p != end; --p)
        p->b = *(s - 1);
    return (s - start) + (end - p);
}
