// A block comes out in an optional.
#include <optional>
static std::optional<int *> make(int n)
{
    if (n > 100)
        return std::nullopt;
    return new int(n);
}
int use(int n)
{
    std::optional<int *> made = make(n);
    if (!made)
        return 0;
    int r = **made;
#ifndef LEAK
    delete *made;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
