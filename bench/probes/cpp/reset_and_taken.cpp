// What a smart array gives back is used and dropped.
template <class T> class ScopedArray {
    T *p;
public:
    explicit ScopedArray(T *q) : p(q) {}
    ~ScopedArray() { delete[] p; }
    void reset(T *q)
    {
        if (q != p) {
            delete[] p;
            p = q;
        }
    }
    T *get() { return p; }
    T *take()
    {
        T *taken = p;
        p = nullptr;
        return taken;
    }
};
int use(int n)
{
    ScopedArray<char> a(new char[n + 1]);
    ScopedArray<int> b(new int[n + 1]);
    a.get()[0] = 1;
    b.reset(new int[3]);
#ifdef LEAK
    int *q = b.take();
#else
    int *q = b.get();
#endif
    q[0] = 7;
    return a.get()[0] + q[0];
}
int main(int argc, char **) { return use(argc) == 77; }
