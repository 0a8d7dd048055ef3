// new, delete, and their forms for arrays and for memory that is there already.
using size = decltype(sizeof 0);
void *operator new(size, void *at) noexcept;

struct plain {
    int value;
    plain *next;
};

struct owner {
    owner();
    ~owner();
    int *data;
};

plain *make() {
    plain *p = new plain{1, nullptr};
    delete p->next;
    return p;
}

owner *many(int n, void *at) {
    int *raw = new int[n];
    delete[] raw;
    owner *list = new owner[3];
    delete[] list;
    return new (at) owner;
}
