// References are pointers that are never null.
void swap(int *&a, int *&b) {
    int *t = a;
    a = b;
    b = t;
}

const int &larger(const int &a, const int &b) { return a < b ? b : a; }

int bind() {
    const int &temporary = 5;
    int &&moved = 6;
    return larger(temporary, moved);
}
