// swap() moves what both own; one of them is released after it.
#include <utility>
class Box {
    int *p;
public:
    explicit Box(int n) : p(new int(n)) {}
    ~Box() { delete p; }
    Box(const Box &) = delete;
    void swap(Box &o) { std::swap(p, o.p); }
    void forget() { p = nullptr; }
    int get() const { return p ? *p : 0; }
};
int use(int n)
{
    Box a(n), b(n + 1);
    a.swap(b);
#ifdef LEAK
    b.forget();
#endif
    return a.get();
}
int main(int argc, char **) { return use(argc) == 77; }
