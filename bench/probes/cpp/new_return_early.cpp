// An early return forgets what new made.
int use(int n)
{
    int *p = new int(n);
    if (n > 3) {
#ifndef LEAK
        delete p;
#endif
        return 1;
    }
    int r = *p;
    delete p;
    return r;
}
int main(int argc, char **) { return use(argc + 5) == 77; }
