// Bases are fields; a cast between them is a step, or a look into the table for a virtual base.
struct first {
    long *a;
};
struct second {
    long *b;
    int c;
};
struct both : first, second {
    long *d;
};
struct root {
    int r;
};
struct left : virtual root {
    int l;
};

second *up(both *x) { return x; }
both *down(second *x) { return static_cast<both *>(x); }
long *read(both *x) { return x->c ? x->b : x->d; }
int through(left *x) { return x->r; }
