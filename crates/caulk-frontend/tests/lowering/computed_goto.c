/* Labels as values: the jump may go to any label whose address is taken. */
int run(const unsigned char *code) {
    static void *const labels[] = {&&stop, &&increment, &&decrement};
    int value = 0;
    goto *labels[*code];
increment:
    value++;
    goto *labels[*++code];
decrement:
    value--;
    goto *labels[*++code];
stop:
    return value;
}
