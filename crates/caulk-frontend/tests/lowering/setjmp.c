/* setjmp is a call like any other, longjmp one that does not come back. */
typedef long jmp_buf[25];
int setjmp(jmp_buf) __attribute__((returns_twice));
_Noreturn void longjmp(jmp_buf, int);
void *malloc(unsigned long);

static jmp_buf there;

int guarded(void (*work)(void *)) {
    void *volatile p = malloc(4);
    if (setjmp(there))
        return -1;
    work(p);
    return 0;
}

void fail(void) { longjmp(there, 1); }
