// An explicit throw leaves the block behind.
#include <stdexcept>
int use(int n)
{
    int *p = new int(n);
    if (n > 1) {
#ifndef LEAK
        delete p;
#endif
        throw std::runtime_error("too many");
    }
    int r = *p;
    delete p;
    return r;
}
int main(int argc, char **)
{
    try { return use(argc + 1) == 77; } catch (const std::exception &) { return 0; }
}
