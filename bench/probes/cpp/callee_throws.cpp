// A callee throws while only a raw pointer owns the block.
#include <memory>
#include <stdexcept>
static void check(int n)
{
    if (n > 1)
        throw std::runtime_error("too many");
}
int use(int n)
{
#ifdef LEAK
    int *p = new int(n);
    check(n);
    int r = *p;
    delete p;
#else
    std::unique_ptr<int> p(new int(n));
    check(n);
    int r = *p;
#endif
    return r;
}
int main(int argc, char **)
{
    try { return use(argc + 1) == 77; } catch (const std::exception &) { return 0; }
}
