// Two widgets are in a list of children, and the destructor deletes one.
#include <vector>
struct Widget { int n; explicit Widget(int number) : n(number) {} virtual ~Widget() {} };
class Children
{
    std::vector<Widget *> all;
public:
    void add(Widget *widget) { all.push_back(widget); }
    int count() { return (int)all.size(); }
};
class Dialog
{
    Widget *ok, *close;
    Children children;
public:
    Dialog() : ok(new Widget(1)), close(new Widget(2))
    {
        children.add(ok);
        children.add(close);
    }
    int count() { return children.count(); }
    ~Dialog()
    {
        delete ok;
#ifndef LEAK
        delete close;
#endif
    }
};
int end(Dialog *dialog)
{
    int count = dialog->count();
    delete dialog;
    return count;
}
int main() { return end(new Dialog()) == 77; }
