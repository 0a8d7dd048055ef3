// A vector of pointers owns nothing.
#include <vector>
int use(int n)
{
    std::vector<int *> v;
    for (int i = 0; i < n; ++i)
        v.push_back(new int(i));
    int r = static_cast<int>(v.size());
#ifndef LEAK
    for (int *p : v)
        delete p;
#endif
    return r;
}
int main(int argc, char **) { return use(argc + 2) == 77; }
