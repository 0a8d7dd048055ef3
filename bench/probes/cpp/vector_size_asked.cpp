// Asking for the size frees nothing.
#include <vector>
int use(int n)
{
    std::vector<int *> v;
    v.push_back(new int(n));
    if (v.empty())
        return 0;
    int r = static_cast<int>(v.size());
#ifndef LEAK
    for (std::size_t i = 0; i < v.size(); ++i)
        delete v[i];
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
