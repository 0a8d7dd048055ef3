// std::vector::at throws out_of_range.
#include <stdexcept>
#include <vector>
int use(const std::vector<int> &v, unsigned n)
{
#ifdef LEAK
    int *p = new int(1);
    int r = v.at(n) + *p;
    delete p;
#else
    int r = v.at(n);
    int *p = new int(1);
    r += *p;
    delete p;
#endif
    return r;
}
int main(int argc, char **)
{
    std::vector<int> v(2);
    try { return use(v, static_cast<unsigned>(argc) + 5) == 77; } catch (const std::exception &) { return 0; }
}
