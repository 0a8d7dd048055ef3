// The field is filled in another method than the constructor.
class Cache {
    int *key, *value;
public:
    Cache(int n) : key(new int(n)), value(nullptr) {}
    ~Cache()
    {
        delete key;
#ifndef LEAK
        delete value;
#endif
    }
    Cache(const Cache &) = delete;
    void fill() { if (!value) value = new int(*key * 2); }
    int get() const { return value ? *value : 0; }
};
int use(int n)
{
    Cache c(n);
    c.fill();
    return c.get();
}
int main(int argc, char **) { return use(argc) == 77; }
