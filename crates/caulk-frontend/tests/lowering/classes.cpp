// Constructors and destructors are calls; the destructor of a local runs on every way out.
class buffer {
  public:
    explicit buffer(int n) : data(new char[n]), length(n) {}
    buffer(const buffer &) = delete;
    ~buffer() { delete[] data; }
    char *begin() const { return data; }
    static int count;

  private:
    char *data;
    int length;
};

int buffer::count = 2;
int use(char *);

int work(int n) {
    buffer outer(n);
    if (n > 3)
        return use(outer.begin());
    buffer inner(buffer::count);
    return 0;
}
