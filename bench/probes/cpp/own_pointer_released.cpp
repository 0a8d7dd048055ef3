// An owning pointer of one's own is released.
template <class T> class Owner {
    T *p;
public:
    explicit Owner(T *q) : p(q) {}
    ~Owner() { delete p; }
    Owner(const Owner &) = delete;
    T *release() { T *q = p; p = nullptr; return q; }
    T *get() const { return p; }
};
int use(int n)
{
    Owner<int> o(new int(n));
#ifdef LEAK
    int *p = o.release();
#else
    int *p = o.get();
#endif
    return *p;
}
int main(int argc, char **) { return use(argc) == 77; }
