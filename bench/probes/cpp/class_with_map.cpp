// The destructor of a class walks its map, or does not.
#include <map>
#include <string>
class Table {
    std::map<std::string, int *> rows;
public:
    ~Table()
    {
#ifndef LEAK
        for (auto &row : rows)
            delete row.second;
#endif
    }
    void add(const std::string &name, int n)
    {
        int *&slot = rows[name];
        delete slot;
        slot = new int(n);
    }
    int count() const { return static_cast<int>(rows.size()); }
};
int use(int n)
{
    Table t;
    t.add("a", n);
    return t.count();
}
int main(int argc, char **) { return use(argc) == 77; }
