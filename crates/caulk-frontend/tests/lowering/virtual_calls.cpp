// Virtual calls load from a table; the table is a global with the functions in it.
struct animal {
    virtual ~animal();
    virtual int legs() const = 0;
    virtual animal *clone() { return this; }
    int age;
};

struct named {
    virtual const char *name();
    char *label;
};

struct dog final : animal, named {
    ~dog() override { delete label; }
    int legs() const override { return 4; }
    dog *clone() override { return new dog(*this); }
    const char *name() override { return label; }
};

int count(animal *a, named *n) {
    n->name();
    return a->clone()->legs();
}

animal *adopt() { return new dog; }
