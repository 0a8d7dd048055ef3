/* Structures passed and returned by value: in registers as their parts, in memory as a copy. */
struct small {
    void *at;
    int length;
};

struct large {
    void *parts[5];
};

struct small make(void *at, int length) {
    struct small s = {at, length};
    return s;
}

struct large grow(struct large l, struct small s, void *last) {
    l.parts[0] = s.at;
    l.parts[4] = last;
    return l;
}

void *chain(struct large *l) {
    struct small s = make(l, 3);
    *l = grow(*l, s, s.at);
    return make(l->parts[1], 0).at;
}
