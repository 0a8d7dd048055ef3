struct Base {
    virtual ~Base() {}
    virtual int *make(int n) { return new int[n]; }
};

struct Derived : Base {
    int *held = nullptr;
    ~Derived() override { delete[] held; }
    int *make(int n) override { return held = new int[n]; }
};

template <typename T> int use(T &base, int n)
{
    int *p = base.make(n);
    if (n > 3)
        throw n;
    int sum = p[0];
    delete[] p;
    return sum;
}

int leak(int n)
{
    Base base;
    Derived derived;
    int *lost = new int(n);
    auto twice = [&](int m) { return use(base, m) + *lost; };
    try {
        return twice(n) + use(derived, n);
    } catch (int) {
        return -1;
    }
}
