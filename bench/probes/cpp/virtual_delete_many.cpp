// delete through an abstract base with many subclasses.
struct B { virtual ~B() {} virtual int f() = 0; };
#define D(n) struct D##n : B { int f() override { return n; } };
D(0) D(1) D(2) D(3) D(4) D(5) D(6) D(7) D(8) D(9) D(10) D(11) D(12) D(13) D(14) D(15) D(16) D(17) D(18)
B *make(int n)
{
    switch (n) {
#define C(n) case n: return new D##n;
    C(0) C(1) C(2) C(3) C(4) C(5) C(6) C(7) C(8) C(9) C(10) C(11) C(12) C(13) C(14) C(15) C(16) C(17)
    default: return new D18;
    }
}
int use(int n)
{
    B *b = make(n);
    int r = b->f();
#ifndef LEAK
    delete b;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
