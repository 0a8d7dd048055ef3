/* Locals whose address is not taken become values; the others stay memory. */
void take(int *slot);

int promoted(int a) {
    int b = a + 1;
    b = b * 2;
    return b;
}

int in_memory(void) {
    int kept = 3;
    take(&kept);
    return kept;
}

int both(int a) {
    int unused;
    int uninitialised;
    {
        int inner = a;
        take(&inner);
    }
    return uninitialised;
}
