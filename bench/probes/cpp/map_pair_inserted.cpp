// A pair brings a pointer into a map.
#include <map>
struct Item { int n; };
class Table
{
    std::map<int, Item *> items;
public:
    void add(int n)
    {
        if (items.find(n) != items.end())
            return;
        Item *item = new Item{n};
        items.insert(std::pair<int, Item *>(n, item));
    }
    ~Table()
    {
#ifndef LEAK
        for (std::map<int, Item *>::iterator i = items.begin(); i != items.end(); ++i)
            delete i->second;
#endif
        items.clear();
    }
};
int use(int n)
{
    Table table;
    table.add(n);
    return n;
}
int main(int argc, char **) { return use(argc) == 77; }
