// One pointer in a vector that goes out of scope.
#include <vector>
int use(int n)
{
    std::vector<int *> v;
    v.push_back(new int(n));
    int r = *v[0];
#ifndef LEAK
    delete v[0];
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
