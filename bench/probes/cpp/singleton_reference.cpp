// A reference returned by a member is assigned over.
class Holder {
    int *p;
public:
    Holder() : p(nullptr) {}
    ~Holder() { delete p; }
    Holder(const Holder &) = delete;
    int *&slot() { return p; }
};
int use(int n)
{
    Holder h;
    h.slot() = new int(n);
#ifndef LEAK
    delete h.slot();
#endif
    h.slot() = new int(n + 1);
    return *h.slot();
}
int main(int argc, char **) { return use(argc) == 77; }
