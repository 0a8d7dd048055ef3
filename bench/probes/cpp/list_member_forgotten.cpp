// A destructor forgets the elements of a list.
#include <list>
struct Item { int n; };
class Shelf
{
    std::list<Item *> items;
public:
    void add(int n) { items.push_back(new Item{n}); }
    int sum()
    {
        int all = 0;
        for (std::list<Item *>::iterator i = items.begin(); i != items.end(); ++i)
            all += (*i)->n;
        return all;
    }
    ~Shelf()
    {
#ifndef LEAK
        for (std::list<Item *>::iterator i = items.begin(); i != items.end(); ++i)
            delete *i;
#endif
    }
};
int use(int n)
{
    Shelf *shelf = new Shelf();
    shelf->add(n);
    int sum = shelf->sum();
    delete shelf;
    return sum;
}
int main(int argc, char **) { return use(argc) == 77; }
