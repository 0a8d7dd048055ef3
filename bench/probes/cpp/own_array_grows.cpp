// An array of the program's own grows and forgets the old block.
template <class T> class Array {
    T *data = nullptr;
    int n = 0, room = 0;
public:
    void push(const T &v)
    {
        if (n == room) {
            int more = room ? 2 * room : 4;
            T *fresh = new T[more];
            for (int i = 0; i < n; ++i)
                fresh[i] = data[i];
#ifndef LEAK
            delete[] data;
#endif
            data = fresh;
            room = more;
        }
        data[n++] = v;
    }
    T &operator[](int i) { return data[i]; }
    ~Array() { delete[] data; }
};
int use(int n)
{
    Array<int> a;
    for (int i = 0; i < n + 9; ++i)
        a.push(i);
    return a[n];
}
int main(int argc, char **) { return use(argc) == 77; }
