// A setter puts a new block over the old one.
#include <cstring>
class Name {
    char *text;
public:
    Name() : text(nullptr) {}
    ~Name() { delete[] text; }
    Name(const Name &) = delete;
    void set(const char *s)
    {
#ifndef LEAK
        delete[] text;
#endif
        text = new char[std::strlen(s) + 1];
        std::strcpy(text, s);
    }
    char first() const { return text[0]; }
};
int use(const char *s)
{
    Name n;
    n.set(s);
    n.set("second");
    return n.first();
}
int main(int, char **argv) { return use(argv[0]) == 1; }
