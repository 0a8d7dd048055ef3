// A second new overwrites the first.
int use(int n)
{
    int *p = new int(n);
#ifndef LEAK
    delete p;
#endif
    p = new int(2 * n);
    int r = *p;
    delete p;
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
