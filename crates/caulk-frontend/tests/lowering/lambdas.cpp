// A lambda is a class with its captures as fields.
template <typename F> int apply(F f) { return f(2); }

int capture(int *p, int n) {
    auto by_value = [p, n](int k) { return *p + n + k; };
    auto by_reference = [&](int k) { return n += k; };
    int (*plain)(int) = [](int k) { return k; };
    return apply(by_value) + apply(by_reference) + apply(plain);
}
