// A stream on the heap.
#include <sstream>
int use(int n)
{
    std::ostringstream *out = new std::ostringstream;
    *out << n;
    int r = static_cast<int>(out->str().size());
#ifndef LEAK
    delete out;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
