// m[k] = new T overwrites what was there
#include <map>
#include <string>
struct Item { int n; char b[64]; };
class Cache {
  std::map<std::string, Item*> m;
public:
  void set(const std::string &k, int n) {
#ifndef LEAK
    std::map<std::string, Item*>::iterator i = m.find(k);
    if (i != m.end()) delete i->second;
#endif
    m[k] = new Item(); m[k]->n = n; }
  int get(const std::string &k) { return m.at(k)->n; }
  ~Cache() { for (std::map<std::string, Item*>::iterator i = m.begin(); i != m.end(); ++i) delete i->second; }
};
int main(int argc, char **argv) { Cache c; c.set(argv[0],1); c.set(argv[0],argc); return c.get("b"); }
