// The handler returns without the block.
#include <stdexcept>
static void check(int n)
{
    if (n > 1)
        throw std::runtime_error("too many");
}
int use(int n)
{
    int *p = new int(n);
    try {
        check(n);
    } catch (const std::runtime_error &) {
#ifndef LEAK
        delete p;
#endif
        return -1;
    }
    int r = *p;
    delete p;
    return r;
}
int main(int argc, char **) { return use(argc + 1) == 77; }
