/* Atomic updates are a load, a computation and a store: one thread sees no difference. */
struct object {
    _Atomic int references;
    struct object *_Atomic next;
};
void free(void *);

void unref(struct object *o) {
    if (__c11_atomic_fetch_sub(&o->references, 1, __ATOMIC_ACQ_REL) == 1)
        free(o);
}

int push(struct object **head, struct object *o) {
    struct object *old = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    o->next = old;
    return __atomic_compare_exchange_n(head, &old, o, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void *swap(void **slot, void *with, int *max) {
    __sync_fetch_and_nand(max, 3);
    __atomic_fetch_max(max, 7, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_exchange_n(slot, with, __ATOMIC_SEQ_CST);
}
