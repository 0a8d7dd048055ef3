/* A switch keeps its cases; negative ones as the bits of their type. */
enum kind { LEAF, NODE, ROOT = 40 };
int visit(int);

int walk(enum kind k, signed char c) {
    switch (k) {
    case LEAF:
        return 1;
    case NODE:
    case ROOT:
        visit(2);
        break;
    default:
        visit(3);
    }
    switch (c) {
    case -1:
        visit(4); /* falls through */
    case 'a' ... 'c':
        visit(5);
    }
    return 0;
}
