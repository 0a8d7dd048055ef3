#include <string.h>
char *other(const char *text) {
    return strdup(text);
}
