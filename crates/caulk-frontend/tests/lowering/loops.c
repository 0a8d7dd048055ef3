/* Loops: a phi for what changes, none for what does not. */
int step(int);

int sum(int n) {
    int total = 0;
    for (int i = 0; i < n; i++)
        total += step(i);
    return total;
}

int wait(int n) {
    while (step(n))
        ;
    do {
        n--;
        if (n == 3)
            continue;
        if (n == 2)
            break;
    } while (n > 0);
    return n;
}
