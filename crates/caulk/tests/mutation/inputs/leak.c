#include <stdlib.h>
#include <string.h>

struct list {
    struct list *next;
    char *text;
};

struct list *head;
int (*handler)(char *);

int leak(int n)
{
    char *p = malloc(n);
    if (!p)
        return -1;
    if (n > 3) // caulk: ignore lost "shown elsewhere"
        return 1;
    p[0] = 1;
    free(p);
    return 0;
}

static struct list *make(const char *text, struct list *next)
{
    struct list *node = malloc(sizeof *node);
    if (node == NULL)
        return NULL;
    node->text = strdup(text);
    node->next = next;
    return node;
}

int insert(const char *text)
{
    struct list *node = make(text, head);
    if (!node || handler(node->text) < 0)
        return -1;
    head = node;
    return 0;
}

void drop(void)
{
    while (head) {
        struct list *next = head->next;
        free(head);
        head = next;
    }
}
