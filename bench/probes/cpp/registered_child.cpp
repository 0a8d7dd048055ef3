// Children enter themselves into a list of their parent, which deletes none of them.
struct Window {
    Window *first = nullptr, *next = nullptr;
    explicit Window(Window *parent)
    {
        if (parent) {
            next = parent->first;
            parent->first = this;
        }
    }
    virtual ~Window() {}
    virtual int width() { return 1; }
};
struct Button : Window {
    explicit Button(Window *parent) : Window(parent) {}
    int width() override { return 3; }
};
struct Dialog : Window {
    Button *button = nullptr;
    char *title = nullptr;
    Dialog() : Window(nullptr) {}
    void build()
    {
        button = new Button(this);
        title = new char[20];
    }
    ~Dialog() override
    {
        delete[] title;
#ifndef LEAK
        delete button;
#endif
    }
};

int main()
{
    Dialog *dialog = new Dialog();
    dialog->build();
    int width = dialog->button->width();
    delete dialog;
    return width;
}
