// map member filled in a method; destructor deletes the elements or not
#include <map>
#include <string>
struct Item { int n; char b[64]; };
class Cache {
  std::map<std::string, Item*> m;
public:
  void load(const std::string &k) { if (m.find(k) == m.end()) m[k] = new Item(); }
  int get(const std::string &k) { return m.at(k)->n; }
  ~Cache() {
#ifndef LEAK
    for (std::map<std::string, Item*>::iterator i = m.begin(); i != m.end(); ++i) delete i->second;
#endif
  }
};
int main(int argc, char **argv) { Cache c; c.load(argv[0]); c.load("b"); return c.get("b"); }
