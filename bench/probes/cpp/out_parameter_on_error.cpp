// out-parameter and status object: error after the out-parameter was filled
#include <cstdlib>
struct Err { int code; const char *msg; };
struct Prof { int a, b; };
static Err set_a(Prof *p, int v) { Err e; if (v > 10) { e.code = 1; e.msg = "x"; return e; } p->a = v; e.code = 0; e.msg = ""; return e; }
Err get_prof(int v, Prof **out) {
  *out = (Prof*)malloc(sizeof(Prof)); Err e;
  if (!*out) { e.code = 2; e.msg = ""; return e; }
  e = set_a(*out, v);
  if (e.code) {
#ifndef LEAK
    free(*out); *out = 0;
#endif
    return e; }
  return e;
}
int use(int v) { Prof *p = 0; Err e = get_prof(v, &p); if (e.code) return e.code; int r = p->a; free(p); return r; }
int main(int argc, char **argv) { return use(argc); }
