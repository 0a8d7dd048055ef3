// Copy on write: a reference is given up before the shared data are replaced.
struct Data {
    int count, n;
    bool deref() { return --count == 0; }
};
class Text {
public:
    explicit Text(int n) : data(new Data{1, n}) {}
    Text(const Text &other) : data(other.data) { data->count++; }
    ~Text();
    void set(int n);
private:
    Text &operator=(const Text &);
    Data *data;
};
Text::~Text()
{
    if (data->deref())
        delete data;
}
void Text::set(int n)
{
    if (data->count > 1) {
#ifndef LEAK
        data->deref();
#endif
        data = new Data{1, n};
    }
    data->n = n;
}
int main(int argc, char **)
{
    Text a(argc);
    Text b(a);
    b.set(3);
    return 0;
}
