// An array of objects that own.
class Cell {
    int *p;
public:
    Cell() : p(new int(1)) {}
    ~Cell() { delete p; }
    Cell(const Cell &) = delete;
    int get() const { return *p; }
};
int use(int n)
{
    Cell *cells = new Cell[3];
    int r = cells[n % 3].get();
#ifndef LEAK
    delete[] cells;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
