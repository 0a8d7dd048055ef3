// A copy of a string's characters is nobody's.
#include <cstdlib>
#include <cstring>
#include <string>
int use(const std::string &s)
{
    char *copy = strdup(s.c_str());
    if (!copy)
        return 0;
    int r = copy[0];
#ifndef LEAK
    std::free(copy);
#endif
    return r;
}
int main(int, char **argv) { return use(argv[0]) == 1; }
