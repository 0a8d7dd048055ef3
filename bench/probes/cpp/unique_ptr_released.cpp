// std::unique_ptr gives up what it owns.
#include <memory>
int use(int n)
{
    std::unique_ptr<int> u(new int(n));
#ifdef LEAK
    int *p = u.release();
#else
    int *p = u.get();
#endif
    return *p;
}
int main(int argc, char **) { return use(argc) == 77; }
