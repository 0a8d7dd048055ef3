// vector member deleted elements in clear() called by destructor; popped without delete
#include <vector>
struct Gui { int n; virtual ~Gui() {} };
class Window {
  std::vector<Gui*> stack;
public:
  void push(int n) { Gui *g = new Gui(); g->n = n; stack.push_back(g); }
  void pop() { if (stack.empty()) return;
#ifndef LEAK
    delete stack.back();
#endif
    stack.pop_back(); }
  ~Window() { while (!stack.empty()) { delete stack.back(); stack.pop_back(); } }
};
int main(int argc, char **argv) { Window w; for (int i = 0; i < argc; i++) w.push(i); w.pop(); return 0; }
