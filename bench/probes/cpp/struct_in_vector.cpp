// Structures in a vector own a string each.
#include <cstdlib>
#include <cstring>
#include <vector>
struct Entry {
    char *name;
    int n;
};
class Table {
    std::vector<Entry> entries;
public:
    void add(const char *name, int n)
    {
        Entry entry;
        entry.name = strdup(name);
        entry.n = n;
        entries.push_back(entry);
    }
    ~Table()
    {
#ifndef LEAK
        for (Entry &entry : entries)
            free(entry.name);
#endif
    }
    int size() const { return entries.size(); }
};
int use(const char *name, int n)
{
    Table table;
    table.add(name, n);
    return table.size();
}
int main(int argc, char **argv) { return use(argv[0], argc) == 77; }
