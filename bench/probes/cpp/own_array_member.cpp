// own array template as a member of a class
#include <cstdlib>
template <class T> class Arr {
  T *d; int n, cap;
public:
  Arr(): d(0), n(0), cap(0) {}
  ~Arr() { clear(); }
  void clear() { if (d) free(d); d = 0; n = cap = 0; }
  int size() const { return n; }
  T &operator[](int i) { return d[i]; }
  void push_back(const T &x) { if (n == cap) { cap = cap ? cap * 2 : 8; T *e = (T*)malloc(cap * sizeof(T)); for (int i = 0; i < n; i++) e[i] = d[i]; if (d) free(d); d = e; } d[n++] = x; }
};
struct Item { int n; char b[64]; };
class World {
  Arr<Item*> items;
public:
  void add(int n) { Item *i = new Item(); i->n = n; items.push_back(i); }
  int sum() { int s = 0; for (int i = 0; i < items.size(); i++) s += items[i]->n; return s; }
  ~World() {
#ifndef LEAK
    for (int i = 0; i < items.size(); i++) delete items[i];
#endif
  }
};
int main(int argc, char **argv) { World w; for (int i = 0; i < argc; i++) w.add(i); return w.sum(); }
