// The destructor frees one of two fields.
class Pair {
    int *a, *b;
public:
    Pair(int n) : a(new int(n)), b(new int(n + 1)) {}
    ~Pair()
    {
        delete a;
#ifndef LEAK
        delete b;
#endif
    }
    Pair(const Pair &) = delete;
    int sum() const { return *a + *b; }
};
int use(int n)
{
    Pair p(n);
    return p.sum();
}
int main(int argc, char **) { return use(argc) == 77; }
