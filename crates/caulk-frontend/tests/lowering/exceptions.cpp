// A call that may throw has two ways on.
struct guard {
    ~guard();
};

struct error {
    int code;
};

void *acquire();
void release(void *);

int attempt() {
    guard g;
    void *p = acquire();
    try {
        release(p);
        if (!p)
            throw error{3};
    } catch (const error &e) {
        return e.code;
    } catch (...) {
        return -1;
    }
    return 0;
}

int quiet() noexcept {
    release(acquire());
    return 1;
}
