/* C as it was: definitions with their types after, and functions nobody declared. */
char *copy(from, length)
    char *from;
    short length;
{
    char *to = xmalloc(length);
    undeclared(to, from, length);
    return to;
}

main() { return copy("a", 1) == 0; }
