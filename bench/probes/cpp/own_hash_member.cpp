// member container of own hash map
#include <cstdlib>
#include <cstring>
template <class V> class Hash { struct N { char *k; V v; N *next; }; N *tab[16];
public: Hash() { memset(tab, 0, sizeof tab); }
 ~Hash() { for (int i = 0; i < 16; i++) while (tab[i]) { N *n = tab[i]; tab[i] = n->next; free(n->k); delete n; } }
 static int h(const char *k) { return k[0] & 15; }
 V *find(const char *k) { for (N *n = tab[h(k)]; n; n = n->next) if (!strcmp(n->k, k)) return &n->v; return 0; }
 void put(const char *k, V v) { N *n = new N(); n->k = strdup(k); n->v = v; n->next = tab[h(k)]; tab[h(k)] = n; }
 template <class F> void each(F f) { for (int i = 0; i < 16; i++) for (N *n = tab[i]; n; n = n->next) f(n->v); }
};
struct T { int n; char b[40]; };
struct Del { void operator()(T *t) { delete t; } };
class Reg { Hash<T*> m; public:
 void add(const char *k) { if (m.find(k)) return; T *t = new T(); t->n = 3; m.put(k, t); }
 int get(const char *k) { T **t = m.find(k); return t ? (*t)->n : 0; }
 ~Reg() {
#ifndef LEAK
  m.each(Del());
#endif
 } };
int main(int argc, char **argv) { Reg r; r.add(argv[0]); return r.get("x"); }
