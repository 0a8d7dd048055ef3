/* Arrays of variable length and alloca: locals with a count. */
void fill(char *, int);

int stacked(int n) {
    char *raw = __builtin_alloca(n);
    fill(raw, n);
    for (int i = 0; i < n; i++) {
        int row[n];
        row[i] = i;
        if (row[0])
            return row[i];
    }
    int table[n][3];
    table[n - 1][2] = 1;
    return table[0][2] + (int)sizeof table;
}
