// What a thread was given is freed when it has ended, or never.
#include <thread>
int use(int n)
{
    int *p = new int(n);
    std::thread t([p]() { *p += 1; });
    t.join();
    int r = *p;
#ifndef LEAK
    delete p;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
