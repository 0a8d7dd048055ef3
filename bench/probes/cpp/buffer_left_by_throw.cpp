// A method frees its buffer when it is done; an exception leaves it to a destructor that does not.
#include <stdexcept>
class Loader {
public:
    Loader() : buffer(nullptr) {}
    ~Loader();
    int load(int n);
private:
    void check();
    int *buffer;
};
Loader::~Loader()
{
#ifndef LEAK
    delete[] buffer;
#endif
}
void Loader::check()
{
    if (buffer[0] > 1)
        throw std::runtime_error("too large");
}
int Loader::load(int n)
{
    delete[] buffer;
    buffer = new int[1];
    buffer[0] = n;
    check();
    int r = buffer[0];
    delete[] buffer;
    buffer = nullptr;
    return r;
}
int main(int argc, char **)
{
    Loader loader;
    try { return loader.load(argc + 1) == 77; } catch (const std::exception &) { return 0; }
}
