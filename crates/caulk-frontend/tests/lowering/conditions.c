/* Short-circuit and conditional expressions: the value of && is a phi, that of ?: too. */
int left(void), right(void);

int both(int a) { return left() && right() || a; }

int choose(int a) {
    int b = a ? left() : right();
    return !b + (a > 1 ? a : 1);
}

int expected(void *p) {
    if (__builtin_expect(!p, 0))
        return 1;
    return (long)p > 2;
}
