// A set on the heap.
#include <set>
int use(int n)
{
    std::set<int> *all = new std::set<int>();
    all->insert(n);
    int count = (int)all->count(3);
#ifndef LEAK
    delete all;
#endif
    return count;
}
int main(int argc, char **) { return use(argc) == 77; }
