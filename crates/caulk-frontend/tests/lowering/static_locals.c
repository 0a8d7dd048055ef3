/* A static local is a global with the function in its name; a string literal one without. */
void *malloc(unsigned long);

const char *name(int n) {
    static char *cache;
    static int counter = 3;
    if (!cache)
        cache = malloc(counter++);
    return n ? cache : "none\t\"quoted\"";
}

char *other(void) {
    static char *cache;
    return cache;
}

const char *const messages[] = {"one", "two", 0, "one"};
char text[8] = "abc";
