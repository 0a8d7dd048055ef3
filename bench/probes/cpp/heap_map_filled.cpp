// A map on the heap, in a structure.
#include <map>
#include <string>
struct Table { std::map<std::string, int> numbers; int count = 0; };
int use(const char *name)
{
    Table *table = new Table();
    table->numbers[name] = 4;
    int count = ++table->count;
#ifndef LEAK
    delete table;
#endif
    return count;
}
int main(int, char **argv) { return use(argv[0]) == 77; }
