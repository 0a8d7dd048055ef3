// An element is taken out of a vector and dropped.
#include <vector>
#include <string>
struct T { std::string name; int a; };
class Reg {
    std::vector<T *> m;
public:
    ~Reg() { for (unsigned i = 0; i < m.size(); i++) delete m[i]; }
    void add(const char *n) { T *t = new T; t->name = n; m.push_back(t); }
    bool remove(const std::string &n) {
        for (std::vector<T *>::iterator it = m.begin(); it != m.end(); it++)
            if ((*it)->name == n) {
#ifndef LEAK
                delete *it;
#endif
                m.erase(it);
                return true;
            }
        return false;
    }
};
int main(int c, char **v) { Reg r; for (int i = 0; i < c; i++) r.add(v[i]); r.remove("a"); }
