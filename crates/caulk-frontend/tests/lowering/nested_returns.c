/* A scope that is only left by return has no switch in its clean-up; the returns come apart all the same. */
int fill(int **slot);
void drop(int **slot);

int nested(int n) {
    int *p;
    fill(&p);
    if (n) {
        int *q;
        fill(&q);
        if (n > 1)
            return 1;
        drop(&q);
        return 2;
    }
    for (;;) {
        if (fill(&p))
            break;
        if (n < -3)
            break;
    }
    return 0;
}
