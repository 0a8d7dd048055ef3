// Placement new takes a buffer that somebody must free.
#include <cstdlib>
#include <new>
struct Point { int x, y; Point(int a, int b) : x(a), y(b) {} };
int use(int n)
{
    void *memory = std::malloc(sizeof(Point));
    if (!memory)
        return 0;
    Point *p = new (memory) Point(n, n);
    int r = p->x + p->y;
    p->~Point();
#ifndef LEAK
    std::free(memory);
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
