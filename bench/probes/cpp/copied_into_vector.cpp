// vector copy of object from new
#include <vector>
struct W { int a; char b[40]; };
int f(int n) { std::vector<W> v;
 for (int i = 0; i < n; i++) { W *w = new W(); w->a = i; v.push_back(*w);
#ifndef LEAK
 delete w;
#endif
 } return v.size(); }
int main(int argc, char **argv) { return f(argc); }
