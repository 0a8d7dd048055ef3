/* All members of a union stand at its beginning. */
union number {
    long whole;
    double real;
    struct {
        short low, high;
        void *at;
    } pair;
};

struct tagged {
    int tag;
    union number value;
};

void *read(struct tagged *t, union number n) {
    t->value.real = 1.5;
    t->value.pair.high = 2;
    n.whole = t->value.whole;
    return n.pair.at;
}
