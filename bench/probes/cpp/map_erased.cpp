// erase() by key forgets the pointer.
#include <map>
int use(int n)
{
    std::map<int, int *> m;
    m[1] = new int(n);
    int r = *m[1];
#ifndef LEAK
    delete m[1];
#endif
    m.erase(1);
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
