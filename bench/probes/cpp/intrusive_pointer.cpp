// A counted pointer of one's own; one reference is never given back.
struct Counted {
    int count = 0;
    int v = 1;
    void ref() { ++count; }
    void unref() { if (--count == 0) delete this; }
};
class Ref {
    Counted *p;
public:
    explicit Ref(Counted *q) : p(q) { p->ref(); }
    ~Ref() { p->unref(); }
    Ref(const Ref &) = delete;
    int get() const { return p->v; }
};
int use(int n)
{
    Counted *c = new Counted;
    c->v = n;
#ifdef LEAK
    return c->v;
#else
    Ref r(c);
    return r.get();
#endif
}
int main(int argc, char **) { return use(argc) == 77; }
