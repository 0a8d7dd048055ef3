// A function that is given the object throws, and has not freed it.
#include <stdexcept>
struct Stream { int size; };
static void check(Stream *stream)
{
    if (stream->size > 1) {
#ifndef LEAK
        delete stream;
#endif
        throw std::runtime_error("too large");
    }
}
int use(int n)
{
    Stream *stream = new Stream{n};
    check(stream);
    int size = stream->size;
    delete stream;
    return size;
}
int main(int argc, char **)
{
    try { return use(argc + 1) == 77; } catch (const std::exception &) { return 0; }
}
