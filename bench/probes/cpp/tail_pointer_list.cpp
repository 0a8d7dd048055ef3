// A list is built through a pointer to its tail, and freed or not.
struct Node { Node *next; int v; };
int use(int n)
{
    Node *head = nullptr, **tail = &head;
    for (int i = 0; i < n; ++i) {
        Node *x = new Node{nullptr, i};
        *tail = x;
        tail = &x->next;
    }
    int *count = new int(0);
    if (!head) {
        delete count;
        return 0;
    }
    while (head) {
        Node *next = head->next;
        ++*count;
        delete head;
        head = next;
    }
    int r = *count;
#ifndef LEAK
    delete count;
#endif
    return r;
}
int main(int argc, char **) { return use(argc + 1) == 77; }
