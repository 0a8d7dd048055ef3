// a wrapper on the stack around a wrapper on the stack
#include <cstdio>
struct Mio { FILE *f; Mio() : f(0) {} void init(FILE *g) { f = g; } int get() { return getc(f); } };
class Parser { Mio *m; int n; public: Parser(Mio *p); bool start(const char *s); int parse(); };
Parser::Parser(Mio *p) { m = p; n = 0; }
bool Parser::start(const char *s) { while (*s) if (m->get() != *s++) return false; return true; }
int Parser::parse() { int c; while ((c = m->get()) != EOF) n += c; return n; }
int load(const char *path) { FILE *f = fopen(path, "r"); if (!f) return -1;
 Mio m; m.init(f); Parser p(&m);
 if (!p.start("<x>")) {
#ifndef LEAK
 fclose(f);
#endif
 return -2; }
 int r = p.parse(); fclose(f); return r; }
int main(int c, char **v) { return load(v[0]); }
