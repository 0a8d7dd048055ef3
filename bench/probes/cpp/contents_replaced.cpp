// A class whose contents are replaced by those of another one, seen through a getter.
#include <vector>

struct Item { int n; };

class Group {
    std::vector<Item *> items;

public:
    ~Group() { drop(); }
    const std::vector<Item *> &all() const { return items; }
    void drop()
    {
        for (unsigned i = 0; i < items.size(); i++)
            delete items[i];
        items.clear();
    }
    void add(int n)
    {
        Item *item = new Item();
        item->n = n;
        items.push_back(item);
    }
    void assign(const Group &other)
    {
#ifdef LEAK
        items.clear();
#else
        drop();
#endif
        for (unsigned i = 0; i < other.all().size(); i++)
            add(other.all()[i]->n);
    }
};

int main(int count, char **)
{
    Group a, b;
    a.add(count);
    b.add(3);
    a.assign(b);
    return a.all().empty();
}
