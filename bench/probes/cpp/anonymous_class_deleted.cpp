// The class is in an anonymous namespace.
namespace {
struct Task { virtual ~Task() {} virtual int run() = 0; };
struct Print : Task { int *n; explicit Print(int v) : n(new int(v)) {} ~Print() override { delete n; } int run() override { return *n; } };
Task *make(int n) { return new Print(n); }
}
int use(int n)
{
    Task *t = make(n);
    int r = t->run();
#ifndef LEAK
    delete t;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
