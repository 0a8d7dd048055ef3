// An assignment operator sets all fields and frees none.
#include <cstring>
class Text {
    char *s;
    int n;
public:
    Text(const char *t) : n(strlen(t))
    {
        s = new char[n + 1];
        memcpy(s, t, n + 1);
    }
    Text(const Text &) = delete;
    Text &operator=(const Text &o)
    {
        if (&o == this)
            return *this;
        char *t = new char[o.n + 1];
        memcpy(t, o.s, o.n + 1);
#ifndef LEAK
        delete[] s;
#endif
        s = t;
        n = o.n;
        return *this;
    }
    ~Text() { delete[] s; }
    int size() const { return n; }
};
int use(const char *name)
{
    Text a("x"), b(name);
    a = b;
    return a.size();
}
int main(int, char **argv) { return use(argv[0]) == 0; }
