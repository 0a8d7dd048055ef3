// reset() frees what was there; release() before it does not.
#include <memory>
int use(int n)
{
    std::unique_ptr<int> u(new int(n));
#ifdef LEAK
    u.release();
#endif
    u.reset(new int(n + 1));
    return *u;
}
int main(int argc, char **) { return use(argc) == 77; }
