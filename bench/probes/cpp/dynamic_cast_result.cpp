// The same object under the name of a derived class.
struct Base { virtual ~Base() {} };
struct Derived : Base { int v = 3; };
static Base *make(int n)
{
    if (n > 100)
        return new Base;
    return new Derived;
}
int use(int n)
{
    Base *b = make(n);
    Derived *d = dynamic_cast<Derived *>(b);
    if (!d) {
#ifndef LEAK
        delete b;
#endif
        return 0;
    }
    int r = d->v;
    delete d;
    return r;
}
int main(int argc, char **) { return use(argc + 100) == 77; }
