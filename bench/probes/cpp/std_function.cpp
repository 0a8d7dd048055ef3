// A std::function that frees what it captured, or does not.
#include <functional>
int use(int n)
{
    int *p = new int(n);
    std::function<int()> f = [p]() { return *p; };
    int r = f();
#ifndef LEAK
    delete p;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
