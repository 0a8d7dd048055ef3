// What is popped must be deleted.
#include <queue>
int use(int n)
{
    std::queue<int *> q;
    q.push(new int(n));
    int *p = q.front();
    q.pop();
    int r = *p;
#ifndef LEAK
    delete p;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
