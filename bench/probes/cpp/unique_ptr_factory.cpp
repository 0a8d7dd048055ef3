// A factory ends in release(): its caller owns the result.
#include <memory>
struct T { int v; explicit T(int n) : v(n) {} };
T *make(int n)
{
    std::unique_ptr<T> u(new T(n));
    if (n > 100)
        return nullptr;
    return u.release();
}
int use(int n)
{
    T *t = make(n);
    if (!t)
        return 0;
    int r = t->v;
#ifndef LEAK
    delete t;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
