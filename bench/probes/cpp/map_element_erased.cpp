// An element is taken out of a map and dropped.
#include <map>
#include <string>
struct T { int a; };
class Reg {
    std::map<std::string, T *> m;
public:
    ~Reg() { for (std::map<std::string, T *>::iterator i = m.begin(); i != m.end(); ++i) delete i->second; }
    void add(const std::string &n) { if (m.find(n) == m.end()) m[n] = new T; }
    void remove(const std::string &n) {
        std::map<std::string, T *>::iterator it = m.find(n);
        if (it == m.end()) return;
#ifndef LEAK
        delete it->second;
#endif
        m.erase(it);
    }
};
int main(int c, char **v) { Reg r; for (int i = 0; i < c; i++) r.add(v[i]); r.remove("a"); }
