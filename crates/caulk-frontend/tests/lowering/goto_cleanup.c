/* One exit for all errors, as kernels do it: jumps keep the place of their goto. */
void *malloc(unsigned long);
void free(void *);
int load(void *, void *);

int setup(void) {
    int status = -1;
    void *first = malloc(8), *second = 0;
    if (!first)
        goto out;
    second = malloc(8);
    if (!second)
        goto free_first;
    status = load(first, second);
    if (status == 0)
        return 0;
    free(second);
free_first:
    free(first);
out:
    return status;
}
