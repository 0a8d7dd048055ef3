// A virtual call on what another one gives.
struct Ex { int v; };
struct Scorer { virtual ~Scorer() {} virtual Ex *explain(int d) { Ex *e = new Ex; e->v = d; return e; } int w; };
struct Weight { virtual ~Weight() {} virtual Scorer *scorer(int r) { if (r < 0) return nullptr; return new Scorer; } };
int run(Weight *w, int r) {
#ifdef LEAK
    Ex *e = w->scorer(r)->explain(3);
#else
    Scorer *s = w->scorer(r); Ex *e = s->explain(3); delete s;
#endif
    int v = e->v; delete e; return v;
}
int main(int c, char **) { Weight w; return run(&w, c); }
