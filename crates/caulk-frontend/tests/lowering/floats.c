/* Floating point: kept as far as types go, without meaning. */
long double widen(float f, double d, long n) {
    long double l = f * d - n;
    if (l > 1.5L || f == 0.1f)
        return -l;
    _Float16 half = d;
    return (unsigned)d + half + __builtin_fabs(d);
}
