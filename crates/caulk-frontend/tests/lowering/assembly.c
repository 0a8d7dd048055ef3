/* Inline assembly is a call of nobody we know, with what it is given. */
int barrier(int *p, unsigned long value) {
    int out;
    __asm__ volatile("" ::: "memory");
    __asm__("mov %1, %0" : "=r"(out) : "r"(value), "m"(*p));
    __asm__ goto("test %0, %0; jne %l1" : : "r"(out) : : away);
    return out;
away:
    return -1;
}
