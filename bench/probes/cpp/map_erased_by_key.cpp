// An element is erased by its key.
#include <map>
struct Item { int n; };
class Table
{
    std::map<int, Item *> items;
public:
    void add(int n)
    {
        if (items.find(n) == items.end())
            items[n] = new Item{n};
    }
    void remove(int n)
    {
#ifndef LEAK
        std::map<int, Item *>::iterator at = items.find(n);
        if (at == items.end())
            return;
        delete at->second;
#endif
        items.erase(n);
    }
    ~Table()
    {
        for (auto &item : items)
            delete item.second;
    }
};
int main(int argc, char **)
{
    Table table;
    table.add(argc);
    table.remove(1);
    return 0;
}
