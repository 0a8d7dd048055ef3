/* GNU C: statement expressions, the address of a compound literal, overflow checks. */
struct pair {
    int a;
    char *b;
};
void keep(struct pair *);

int odd(int x) {
    int y = ({
        int t = x * 2;
        if (t > 9)
            return -1;
        t + 1;
    });
    keep(&(struct pair){.a = y, .b = "b"});
    int sum;
    return __builtin_add_overflow(x, y, &sum) ? 0 : sum;
}
