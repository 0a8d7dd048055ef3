/* Integers wider than 64 bits keep their width; constants too wide for us are opaque. */
typedef unsigned __int128 wide;

wide multiply(unsigned long a, wide b) {
    wide limit = ((wide)1 << 100) + 5;
    wide product = a * b + 3;
    return product > limit ? 0 : product;
}
