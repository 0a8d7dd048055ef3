// A guard is dismissed, and the pointer is not handed on.
class Guard {
    int *p;
public:
    explicit Guard(int *q) : p(q) {}
    ~Guard() { delete p; }
    Guard(const Guard &) = delete;
    void dismiss() { p = nullptr; }
};
int use(int n)
{
    int *p = new int(n);
    Guard g(p);
    if (n > 100)
        return 0;
#ifdef LEAK
    g.dismiss();
#endif
    return *p;
}
int main(int argc, char **) { return use(argc) == 77; }
