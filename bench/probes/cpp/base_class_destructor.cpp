// The base class owns a block; its destructor frees it or not.
class Base {
protected:
    int *p;
    explicit Base(int n) : p(new int(n)) {}
    ~Base()
    {
#ifndef LEAK
        delete p;
#endif
    }
};
class Derived : Base {
    int *q;
public:
    explicit Derived(int n) : Base(n), q(new int(n)) {}
    ~Derived() { delete q; }
    int sum() const { return *p + *q; }
};
int use(int n)
{
    Derived d(n);
    return d.sum();
}
int main(int argc, char **) { return use(argc) == 77; }
