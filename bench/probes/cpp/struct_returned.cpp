// A structure that owns is returned by value.
struct Buffer { char *data; int size; };
static Buffer make(int n) { return Buffer{new char[16](), n}; }
int use(int n)
{
    Buffer b = make(n);
    int r = b.data[0] + b.size;
#ifndef LEAK
    delete[] b.data;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
