/* The products of the gamma functions. On x86-64, glibc computes them with 80-bit numbers, whose
 * mantissa has 64 bits: here, results of 128-bit operations are rounded to that many. */

/* Rounds to 64 of 113 bits (Veltkamp's splitting). */
static long double rounded(long double x)
{
    long double scaled = x * ((1ull << 49) + 1);
    return scaled - (scaled - x);
}

/* The product of X + X_EPS + i for i from 0 to COUNT - 1, and its relative error. */
double __gamma_product(double x, double x_eps, int count, double *error)
{
    long double first = rounded((long double)x + x_eps), product = first;
    for (int i = 1; i < count; i++)
        product = rounded(product * rounded(first + i));
    double result = (double)product;
    *error = (double)rounded(rounded(product - result) / result);
    return result;
}

/* The product of 1 + T / (X + X_EPS + i), minus 1. */
double __lgamma_product(double t, double x, double x_eps, int count)
{
    long double first = rounded((long double)x + x_eps), product = 0;
    for (int i = 0; i < count; i++) {
        long double quotient = rounded(t / rounded(first + i));
        product = rounded(product + rounded(quotient * rounded(1 + product)));
    }
    return (double)product;
}
