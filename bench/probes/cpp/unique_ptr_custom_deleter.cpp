// The deleter frees, or does not.
#include <cstdlib>
#include <memory>
struct Deleter {
    void operator()(char *p) const
    {
#ifndef LEAK
        std::free(p);
#else
        (void)p;
#endif
    }
};
int use(int n)
{
    std::unique_ptr<char, Deleter> u(static_cast<char *>(std::malloc(16)));
    if (!u)
        return 0;
    u.get()[0] = static_cast<char>(n);
    return u.get()[0];
}
int main(int argc, char **) { return use(argc) == 77; }
