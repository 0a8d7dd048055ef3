/* Attributes about ownership, noreturn, const and sizes survive on declarations. */
typedef unsigned long size;
void __attribute__((ownership_returns(malloc, 1))) *make(size n);
void __attribute__((ownership_takes(malloc, 2))) release(int how, void *p);
__attribute__((ownership_holds(malloc, 1))) void keep(void *p);
__attribute__((malloc, alloc_size(2))) void *pool_get(void *pool, size n);
__attribute__((returns_nonnull)) void *never_null(void);
__attribute__((noreturn)) void die(const char *why);
__attribute__((pure)) int look(const void *at);
__attribute__((const)) int compute(int);
__attribute__((nonnull(1))) char *duplicate(const char *s, char *const *vector);

void all(void) {
    void *p = make(look("x") + compute(2));
    keep(pool_get(p, 4));
    release(1, never_null());
    die(duplicate("s", 0));
}
