// Move assignment forgets what the target owned.
#include <utility>
class Box {
    int *p;
public:
    Box(int n) : p(new int(n)) {}
    Box(Box &&o) noexcept : p(o.p) { o.p = nullptr; }
    ~Box() { delete p; }
    Box &operator=(Box &&o) noexcept
    {
#ifndef LEAK
        delete p;
#endif
        p = o.p;
        o.p = nullptr;
        return *this;
    }
    int get() const { return p ? *p : 0; }
};
int use(int n)
{
    Box a(n), b(n + 1);
    a = std::move(b);
    return a.get();
}
int main(int argc, char **) { return use(argc) == 77; }
