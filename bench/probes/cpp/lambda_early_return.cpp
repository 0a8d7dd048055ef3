// The lambda runs, and the function returns early.
int use(int n)
{
    int *p = new int(n);
    auto done = [&](int r) { delete p; return r; };
    if (n > 3)
#ifdef LEAK
        return 3;
#else
        return done(3);
#endif
    return done(*p);
}
int main(int argc, char **) { return use(argc + 5) == 77; }
