// A helper fills a vector of raw pointers; an early return forgets the elements.
#include <vector>
struct Item { int n; };
static void fill(std::vector<Item *> &out, int n)
{
    for (int i = 0; i < n; i++)
        out.push_back(new Item{i});
}
int use(int n)
{
    std::vector<Item *> all;
    fill(all, n);
#ifdef LEAK
    if (n > 1)
        return 1;
#endif
    for (Item *item : all)
        delete item;
    return 0;
}
int main(int argc, char **) { return use(argc + 1) == 77; }
