// temporary of a call chain
struct List { int n; int first() { return n; } virtual ~List() {} };
struct Node { int k; List *list() const { List *l = new List(); l->n = k; return l; } };
int f(const Node &n) {
#ifdef LEAK
  return n.list()->first();
#else
  List *l = n.list(); int r = l->first(); delete l; return r;
#endif
}
int main(int argc, char **argv) { Node n; n.k = argc; return f(n); }
