// The destructor of a class walks its vector, or does not.
#include <vector>
class Scene {
    std::vector<int *> parts;
public:
    ~Scene()
    {
#ifndef LEAK
        for (int *p : parts)
            delete p;
#endif
    }
    void add(int n) { parts.push_back(new int(n)); }
    int count() const { return static_cast<int>(parts.size()); }
};
int use(int n)
{
    Scene s;
    s.add(n);
    return s.count();
}
int main(int argc, char **) { return use(argc) == 77; }
