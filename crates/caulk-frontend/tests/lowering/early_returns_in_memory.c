/* The same when the locals that go out of scope have to stay in memory. */
int fill(int **slot);
void drop(int **slot);

int in_memory(int n) {
    int *outer;
    if (fill(&outer))
        return 1;
    for (int i = 0; i < n; i++) {
        int *inner;
        if (fill(&inner))
            return 2;
        if (i == 3)
            break;
        drop(&inner);
    }
    drop(&outer);
    return 0;
}
