// Names carry their namespaces and classes; nameless namespaces are private to the unit.
namespace outer {
namespace inner {
struct item {
    struct part {
        int *at;
    } first;
    int *get();
};
int *item::get() { return first.at; }
} // namespace inner
inline int shared(inner::item &i) { return *i.get(); }
} // namespace outer

namespace {
int hidden(int x) { return x + 1; }
} // namespace

int main() {
    outer::inner::item i{};
    return hidden(outer::shared(i));
}
