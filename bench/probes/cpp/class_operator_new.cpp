// The class has an operator new of its own.
#include <cstdlib>
#include <new>
struct Node {
    int v;
    explicit Node(int n) : v(n) {}
    static void *operator new(std::size_t size)
    {
        void *p = std::malloc(size);
        if (!p)
            throw std::bad_alloc();
        return p;
    }
    static void operator delete(void *p) { std::free(p); }
};
int use(int n)
{
    Node *node = new Node(n);
    int r = node->v;
#ifndef LEAK
    delete node;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
