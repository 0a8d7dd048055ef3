/* Variadic arguments: passed like others, read as loads from memory that va_start fills. */
int log_line(const char *format, ...);

void *pick(int count, ...) {
    __builtin_va_list list, copy;
    __builtin_va_start(list, count);
    __builtin_va_copy(copy, list);
    int number = __builtin_va_arg(list, int);
    void *found = __builtin_va_arg(copy, void *);
    __builtin_va_end(copy);
    __builtin_va_end(list);
    log_line("%d %p", number, found);
    return found;
}
