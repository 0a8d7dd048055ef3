// Each instance of a template is a function and a structure of its own.
namespace store {
template <typename T, int N> struct box {
    T *items[N];
    int used = 0;
    void put(T *item) { items[used++] = item; }
};

template <typename T> T *last(box<T, 2> &b) { return b.items[b.used - 1]; }
} // namespace store

long *two(long *a, char *c) {
    store::box<long, 2> numbers;
    store::box<char, 5> letters;
    numbers.put(a);
    letters.put(c);
    return store::last(numbers);
}
