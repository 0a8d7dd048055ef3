// The destructor forgets the implementation.
class Widget {
    struct Impl { int v; };
    Impl *impl;
public:
    explicit Widget(int n) : impl(new Impl{n}) {}
    ~Widget()
    {
#ifndef LEAK
        delete impl;
#endif
    }
    Widget(const Widget &) = delete;
    int value() const { return impl->v; }
};
int use(int n)
{
    Widget w(n);
    return w.value();
}
int main(int argc, char **) { return use(argc) == 77; }
