/* Bit-fields are masks and shifts on the storage they share. */
struct flags {
    unsigned ready : 1;
    unsigned level : 5;
    signed delta : 10;
    void *owner;
    unsigned long wide : 40;
};

int update(struct flags *f) {
    f->ready = 1;
    f->level += 2;
    f->wide = f->level;
    return f->owner ? f->delta : 0;
}
