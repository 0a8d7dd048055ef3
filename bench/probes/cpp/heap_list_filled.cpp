// A list on the heap: its nodes lead back to it.
#include <list>
int use(int n)
{
    std::list<int> *all = new std::list<int>();
    all->push_back(n);
    int count = (int)all->size();
#ifndef LEAK
    delete all;
#endif
    return count;
}
int main(int argc, char **) { return use(argc) == 77; }
