// What make_unique made is moved and released.
#include <memory>
#include <utility>
int use(int n)
{
    auto a = std::make_unique<int>(n);
    std::unique_ptr<int> b = std::move(a);
#ifdef LEAK
    return *b.release();
#else
    return *b;
#endif
}
int main(int argc, char **) { return use(argc) == 77; }
