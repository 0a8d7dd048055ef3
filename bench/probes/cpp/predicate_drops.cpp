// Elements are taken out by an algorithm, whose function deletes them or does not.
#include <algorithm>
#include <vector>
struct Shot {
    bool is_over = false;
};
class World {
    std::vector<Shot *> shots;
public:
    ~World()
    {
        for (Shot *shot : shots)
            delete shot;
    }
    void fire(bool over)
    {
        shots.push_back(new Shot);
        shots.back()->is_over = over;
    }
    void sweep()
    {
        auto ends = [](Shot *shot) {
            if (!shot->is_over)
                return false;
#ifndef LEAK
            delete shot;
#endif
            return true;
        };
        shots.erase(std::remove_if(shots.begin(), shots.end(), ends), shots.end());
    }
};
int use(int n)
{
    World world;
    world.fire(n > 0);
    world.fire(false);
    world.sweep();
    return n;
}
int main(int argc, char **) { return use(argc) == 77; }
