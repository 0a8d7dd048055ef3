// The constructor throws after it has allocated: its destructor does not run.
#include <stdexcept>
class Buffer {
    int *data;
public:
    explicit Buffer(int n) : data(new int[4]())
    {
        if (n > 1) {
#ifndef LEAK
            delete[] data;
#endif
            throw std::runtime_error("too many");
        }
    }
    ~Buffer() { delete[] data; }
    Buffer(const Buffer &) = delete;
    int first() const { return data[0]; }
};
int use(int n)
{
    Buffer b(n);
    return b.first();
}
int main(int argc, char **)
{
    try { return use(argc + 1) == 77; } catch (const std::exception &) { return 0; }
}
