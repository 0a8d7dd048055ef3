// pop_back() forgets the last pointer.
#include <vector>
int use(int n)
{
    std::vector<int *> v;
    v.push_back(new int(n));
    int r = *v.back();
#ifndef LEAK
    delete v.back();
#endif
    v.pop_back();
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
