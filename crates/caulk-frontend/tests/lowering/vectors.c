/* Vector arithmetic is unknown, and counted; what a vector is loaded from and stored to is not lost. */
typedef int quad __attribute__((vector_size(16)));
typedef void *slots[2];

quad add(quad *a, quad b, int i) {
    quad c = *a + b;
    c[1] = b[i];
    *a = c > b;
    return __builtin_shufflevector(c, b, 0, 1, 4, 5);
}
