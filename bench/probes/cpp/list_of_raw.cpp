// A list of pointers owns nothing.
#include <list>
int use(int n)
{
    std::list<int *> l;
    l.push_back(new int(n));
    int r = *l.front();
#ifndef LEAK
    while (!l.empty()) {
        delete l.front();
        l.pop_front();
    }
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
