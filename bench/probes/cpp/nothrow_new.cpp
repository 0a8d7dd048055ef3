// new that does not throw, with a check for null.
#include <new>
int use(int n)
{
    int *p = new (std::nothrow) int(n);
    if (!p)
        return -1;
    if (n > 3) {
#ifndef LEAK
        delete p;
#endif
        return 1;
    }
    delete p;
    return 0;
}
int main(int argc, char **) { return use(argc + 5) == 77; }
