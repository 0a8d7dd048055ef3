// A map of pointers owns nothing.
#include <map>
int use(int n)
{
    std::map<int, int *> m;
    m[n] = new int(n);
    int r = *m[n];
#ifndef LEAK
    for (auto &e : m)
        delete e.second;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
