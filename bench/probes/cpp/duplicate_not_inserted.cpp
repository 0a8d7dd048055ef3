// duplicate key not inserted
#include <map>
struct T { int n; char b[50]; };
class Reg { std::map<int, T*> m; public:
 void add(int k) { T *t = new T(); t->n = k; 
#ifdef LEAK
   m.insert(std::make_pair(k, t));
#else
   if (!m.insert(std::make_pair(k, t)).second) delete t;
#endif
 }
 ~Reg() { for (std::map<int,T*>::iterator i = m.begin(); i != m.end(); ++i) delete i->second; } };
int main(int argc, char **argv) { Reg r; r.add(argc); r.add(1); return 0; }
