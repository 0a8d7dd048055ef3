// The callee catches everything itself, or lets it through.
#include <stdexcept>
static int parse(int n)
{
#ifndef LEAK
    try {
#endif
        if (n > 1)
            throw std::runtime_error("too many");
#ifndef LEAK
    } catch (...) {
        return -1;
    }
#endif
    return n;
}
int use(int n)
{
    int *p = new int(n);
    int r = parse(n) + *p;
    delete p;
    return r;
}
int main(int argc, char **)
{
    try { return use(argc + 1) == 77; } catch (const std::exception &) { return 0; }
}
