/* Complex numbers are pairs of floats. */
double _Complex scale(double _Complex z, float _Complex w) {
    __real__ z = 2;
    z = z * w;
    return z + 1.0i;
}
