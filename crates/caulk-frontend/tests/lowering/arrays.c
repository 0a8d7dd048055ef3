/* A constant index is a byte offset; any other is an any-index step with its stride. */
struct cell {
    void *data;
    long weight;
};

extern struct cell table[8];
int matrix[4][6];
extern char *words[];

void *arrays(struct cell *cells, int i, unsigned char small) {
    cells[2].weight = 1;
    cells[i].data = words[small];
    matrix[i][3] = matrix[1][i];
    table[i - 1].weight++;
    return table[3].data;
}
