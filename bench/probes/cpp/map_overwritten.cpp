// operator[] assigned twice for one key.
#include <map>
int use(int n)
{
    std::map<int, int *> m;
    m[1] = new int(n);
#ifndef LEAK
    delete m[1];
#endif
    m[1] = new int(n + 1);
    int r = *m[1];
    delete m[1];
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
