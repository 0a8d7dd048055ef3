// Pointers that own go into the vector; a raw one is made of the last.
#include <memory>
#include <vector>
int use(int n)
{
    std::vector<std::unique_ptr<int>> v;
    v.push_back(std::make_unique<int>(n));
    v.emplace_back(new int(n + 1));
#ifdef LEAK
    int *p = new int(*v.back());
#else
    int *p = v.back().get();
#endif
    return *p;
}
int main(int argc, char **) { return use(argc) == 77; }
