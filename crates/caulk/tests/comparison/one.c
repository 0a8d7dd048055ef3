#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char *other(const char *text);
int leak(const char *text) {
    char *copy = strdup(text);
    if (!copy)
        return -1;
    if (copy[0] == 'x')
        return 1;
    free(copy);
    return 0;
}
int nothing(int n) {
    char *p = NULL;
    if (n > 3)
        p = malloc(n);
    if (n > 3 && !p)
        return -1;
    if (n > 3)
        free(p);
    return 0;
}
int stream(const char *name) {
    FILE *file = fopen(name, "r");
    if (!file)
        return -1;
    int c = getc(file);
    if (c == EOF)
        return -2;
    fclose(file);
    return c;
}
int descriptor(const char *name) {
    char c = 0;
    int fd = open(name, O_RDONLY);
    if (fd == -1)
        return -1;
    if (read(fd, &c, 1) != 1)
        return -2;
    close(fd);
    return c;
}
int from_another(const char *text) {
    char *copy = other(text);
    if (!copy)
        return -1;
    if (copy[0] == 'y')
        return 1;
    free(copy);
    return 0;
}
