// delete through an abstract base.
struct Shape { virtual ~Shape() {} virtual int area() const = 0; };
struct Square : Shape {
    int *side;
    explicit Square(int n) : side(new int(n)) {}
    ~Square() override { delete side; }
    int area() const override { return *side * *side; }
};
struct Dot : Shape { int area() const override { return 0; } };
Shape *make(int n)
{
    if (n > 3)
        return new Dot;
    return new Square(n);
}
int use(int n)
{
    Shape *s = make(n);
    int r = s->area();
#ifndef LEAK
    delete s;
#endif
    return r;
}
int main(int argc, char **) { return use(argc) == 77; }
