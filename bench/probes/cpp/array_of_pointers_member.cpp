// elements of an array of pointers
struct Item { int n; char b[64]; };
class Grid {
  Item **cells; int n;
public:
  Grid(int k) : n(k) { cells = new Item*[n]; for (int i = 0; i < n; i++) cells[i] = new Item(); }
  int sum() { int s = 0; for (int i = 0; i < n; i++) s += cells[i]->n; return s; }
  ~Grid() {
#ifndef LEAK
    for (int i = 0; i < n; i++) delete cells[i];
#endif
    delete[] cells;
  }
};
int main(int argc, char **argv) { Grid g(argc); return g.sum(); }
