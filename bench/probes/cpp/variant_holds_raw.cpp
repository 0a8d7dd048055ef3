// A variant with a raw pointer inside.
#include <variant>
int use(int n)
{
    std::variant<int, int *> v = n;
    if (n < 100)
        v = new int(n);
    int r = 0;
    if (int **p = std::get_if<int *>(&v)) {
        r = **p;
#ifndef LEAK
        delete *p;
#endif
    }
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
