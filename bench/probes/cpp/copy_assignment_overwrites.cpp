// Copy assignment forgets what the target owned.
class Box {
    int *p;
public:
    Box(int n) : p(new int(n)) {}
    Box(const Box &o) : p(new int(*o.p)) {}
    ~Box() { delete p; }
    Box &operator=(const Box &o)
    {
        if (this == &o)
            return *this;
#ifndef LEAK
        delete p;
#endif
        p = new int(*o.p);
        return *this;
    }
    int get() const { return *p; }
};
int use(int n)
{
    Box a(n), b(n + 1);
    a = b;
    return a.get();
}
int main(int argc, char **) { return use(argc) == 77; }
