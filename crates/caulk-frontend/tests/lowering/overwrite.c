/* An assignment that overwrites a pointer is a bind at the place of the assignment. */
void *malloc(unsigned long);

void *twice(int again) {
    void *p = malloc(1);
    if (again)
        p = malloc(2);
    p = p ? p : malloc(3);
    p = 0;
    return p;
}
