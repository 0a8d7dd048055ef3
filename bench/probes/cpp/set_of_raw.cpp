// A set of pointers owns nothing.
#include <set>
int use(int n)
{
    std::set<int *> s;
    s.insert(new int(n));
    int r = static_cast<int>(s.size());
#ifndef LEAK
    for (int *p : s)
        delete p;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
