// A raw pointer beside a shared one is nobody's.
#include <memory>
int use(int n)
{
    auto s = std::make_shared<int>(n);
    int *copy = new int(*s);
    int r = *copy;
#ifndef LEAK
    delete copy;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
