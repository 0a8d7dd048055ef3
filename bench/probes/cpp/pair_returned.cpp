// A block comes out in a pair.
#include <utility>
static std::pair<int *, bool> make(int n) { return std::pair<int *, bool>(new int(n), n > 1); }
int use(int n)
{
    std::pair<int *, bool> made = make(n);
    int r = *made.first + made.second;
#ifndef LEAK
    delete made.first;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
