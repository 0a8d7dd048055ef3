// A block comes out by reference.
static void make(int *&out, int n) { out = new int(n); }
int use(int n)
{
    int *p = nullptr;
    make(p, n);
    int r = *p;
#ifndef LEAK
    delete p;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
