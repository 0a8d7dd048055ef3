// A virtual call on a class whose first base is empty.
struct Tag {};
struct Sink : Tag { virtual ~Sink() {} virtual int look(int *p) = 0; };
struct Reader : Sink {
    int look(int *p) override
    {
        int r = *p;
#ifndef LEAK
        delete p;
#endif
        return r;
    }
};
int use(Sink &s, int n) { return s.look(new int(n)); }
int main(int argc, char **)
{
    Reader r;
    return use(r, argc) == 77;
}
