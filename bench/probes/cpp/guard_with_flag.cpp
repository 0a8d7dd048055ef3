// A guard asks a flag, which is cleared before the last way out.
template <class T> class Guard {
    T *p;
    bool active = true;
public:
    explicit Guard(T *q) : p(q) {}
    ~Guard()
    {
        if (active)
            delete p;
    }
    void dismiss() { active = false; }
};
int *load(int n)
{
    int *p = new int(n);
    Guard<int> guard(p);
#ifdef LEAK
    guard.dismiss();
#endif
    if (n > 0)
        return nullptr;
    guard.dismiss();
    return p;
}
int main(int argc, char **)
{
    int *p = load(argc);
    delete p;
    return 0;
}
