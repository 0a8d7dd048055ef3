// The destructor frees the first node only, or all.
class List {
    struct Node { int v; Node *next; };
    Node *head;
public:
    List() : head(nullptr) {}
    ~List()
    {
#ifdef LEAK
        head = nullptr;
#else
        while (head) {
            Node *next = head->next;
            delete head;
            head = next;
        }
#endif
    }
    List(const List &) = delete;
    void add(int n) { head = new Node{n, head}; }
    int first() const { return head->v; }
};
int use(int n)
{
    List l;
    l.add(n);
    l.add(n + 1);
    return l.first();
}
int main(int argc, char **) { return use(argc) == 77; }
