// delete through a base without a virtual destructor skips the derived one.
struct Base {
#ifndef LEAK
    virtual
#endif
    ~Base() {}
    int id = 0;
};
struct Derived : Base {
    int *p;
    explicit Derived(int n) : p(new int(n)) {}
    ~Derived() { delete p; }
};
int use(int n)
{
    Base *b = new Derived(n);
    int r = b->id;
    delete b;
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
