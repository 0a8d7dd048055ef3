// A break leaves the loop with the array of the iteration.
int sum(int n)
{
    int total = 0;
    for (int i = 0; i < n; ++i) {
        int *row = new int[4]();
        if (i == 2) {
#ifndef LEAK
            delete[] row;
#endif
            break;
        }
        total += row[1];
        delete[] row;
    }
    return total;
}
int main(int argc, char **) { return sum(argc + 5) == 77; }
