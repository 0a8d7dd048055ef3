// A container that copies elements by a size that it keeps, so that pointers go in unseen.
#include <cstring>

class Plain {
    unsigned size, count = 0;
    char *bytes;

public:
    Plain(unsigned size, unsigned room) : size(size), bytes(new char[size * room]) {}
    ~Plain() { delete[] bytes; }
    void append(const void *item) { memcpy(bytes + count++ * size, item, size); }
    const void *at(unsigned i) const { return bytes + i * size; }
    unsigned length() const { return count; }
};
struct Item { int n; };
class Menu {
    Plain items;

public:
    Menu() : items(sizeof(Item *), 8) {}
    Item *add(Item *item)
    {
        items.append(&item);
        return item;
    }
    Item *addItem(int n)
    {
        Item *item = new Item();
        item->n = n;
#ifdef LEAK
        if (n > 100)
            return nullptr;
#else
        if (n > 100) {
            delete item;
            return nullptr;
        }
#endif
        return add(item);
    }
    ~Menu()
    {
        for (unsigned i = 0; i < items.length(); i++)
            delete *(Item *const *)items.at(i);
    }
};

int main(int count, char **)
{
    Menu menu;
    menu.addItem(count);
    menu.addItem(2);
    return 0;
}
