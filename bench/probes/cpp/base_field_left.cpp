// protected base field; derived fills it, nobody frees it
class Base { protected: char *buf; public: Base() : buf(0) {} virtual ~Base() {
#ifndef LEAK
 delete[] buf;
#endif
 } virtual int run(int) = 0; };
class D : public Base { public: int run(int n) { if (!buf) buf = new char[100]; buf[0] = n; return buf[0]; } ~D() {} };
int main(int argc, char **argv) { Base *b = new D(); int r = b->run(argc); delete b; return r; }
