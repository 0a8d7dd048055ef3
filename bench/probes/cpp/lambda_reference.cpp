// A lambda looks at a block by reference, or frees it.
int use(int n)
{
    int *p = new int(n);
    auto f = [&]() {
        int r = *p;
#ifndef LEAK
        delete p;
#endif
        return r;
    };
    return f();
}
int main(int argc, char **) { return use(argc) == 77; }
