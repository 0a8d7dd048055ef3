// The loop ends once something was found.
#include <cstdlib>
#include <cstring>
int use(char **names, int n)
{
    char *found = nullptr;
#ifdef LEAK
    for (int i = 0; i < n; ++i)
#else
    for (int i = 0; i < n && !found; ++i)
#endif
        if (names[i][0] == 'x')
            found = strdup(names[i]);
    int r = found ? found[0] : 0;
    std::free(found);
    return r;
}
int main()
{
    char a[] = "xa", b[] = "xb";
    char *names[] = {a, b};
    return use(names, 2) == 1;
}
