// A lambda takes a copy of the pointer, and frees it or not.
int use(int n)
{
    int *p = new int(n);
    auto f = [p]() {
        int r = *p;
#ifndef LEAK
        delete p;
#endif
        return r;
    };
    return f();
}
int main(int argc, char **) { return use(argc) == 77; }
