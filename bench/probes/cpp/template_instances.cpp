// A template that forgets, in two instances.
template <class T> T twice(T v)
{
    T *p = new T(v);
    T r = *p + *p;
#ifndef LEAK
    delete p;
#endif
    return r;
}
int use(int n) { return twice(n) + static_cast<int>(twice(2.0 * n)); }
int main(int argc, char **) { return use(argc) == 77; }
