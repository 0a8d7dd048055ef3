/* Copies and fills of memory are instructions; assignments of structures too. */
struct block {
    void *at[6];
};

void copies(struct block *a, struct block *b, unsigned long n) {
    *a = *b;
    struct block local = {{a}};
    __builtin_memcpy(a, &local, n);
    __builtin_memmove(b->at, b->at + 1, 40);
    __builtin_memset(b, 0, sizeof *b);
}
