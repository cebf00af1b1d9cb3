/* Mathematical functions whose last digits are those of V8, which uses the methods of fdlibm
 * (K. C. Ng, Sun Microsystems, 1993; the comments there derive the coefficients). */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "mathematics.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double without_low_bits(double value)
{
    return of_bits(bits_of(value) & ~(uint64_t)0xffffffff);
}

static const double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;

/* log(1 + f) = f - f²/2 + s (f²/2 + R(s²)) with s = f / (2 + f). */
double v8_log(double x)
{
    if (x == 0)
        return -1 / (x * x);
    if (!(x >= 0) || isinf(x))
        return x > 0 ? x : NAN;
    int exponent = 0;
    if (x < 0x1p-1022) {
        exponent -= 54;
        x *= 0x1p54;
    }
    int32_t high = bits_of(x) >> 32;
    exponent += (high >> 20) - 1023;
    high &= 0xfffff;
    /* So that 1 + f is between the square roots of 1/2 and of 2. */
    int32_t upper = (high + 0x95f64) & 0x100000;
    uint64_t low = bits_of(x) & 0xffffffff;
    x = of_bits((uint64_t)(uint32_t)(high | (upper ^ 0x3ff00000)) << 32 | low);
    exponent += upper >> 20;
    double f = x - 1, k = exponent;
    if ((0xfffff & (2 + high)) < 3) {
        if (f == 0)
            return exponent == 0 ? 0 : k * LN2_HIGH + k * LN2_LOW;
        double rest = f * f * (0.5 - 0.33333333333333333 * f);
        return exponent == 0 ? f - rest : k * LN2_HIGH - ((rest - k * LN2_LOW) - f);
    }
    double s = f / (2 + f), z = s * s, w = z * z;
    double even = w * (3.999999999940941908e-01 +
                       w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 +
                      w * (2.857142874366239149e-01 +
                           w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double sum = odd + even;
    if (((high - 0x6147a) | (0x6b851 - high)) > 0) {
        double half = 0.5 * f * f;
        if (exponent == 0)
            return f - (half - s * (half + sum));
        return k * LN2_HIGH - ((half - (s * (half + sum) + k * LN2_LOW)) - f);
    }
    if (exponent == 0)
        return f - s * (f - sum);
    return k * LN2_HIGH - ((s * (f - sum) - k * LN2_LOW) - f);
}

double v8_log10(double x)
{
    if (!(x > 0) || isinf(x))
        return v8_log(x);
    int exponent = 0;
    if (x < 0x1p-1022) {
        exponent -= 54;
        x *= 0x1p54;
    }
    uint64_t bits = bits_of(x);
    exponent += (int)(bits >> 52) - 1023;
    int below = exponent < 0;
    x = of_bits((bits & 0xfffffffffffff) | (uint64_t)(0x3ff - below) << 52);
    double y = exponent + below;
    double z = y * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * v8_log(x);
    return z + y * 3.01029995663611771306e-01;
}

double v8_cosh(double x)
{
    x = fabs(x);
    if (x < 0.34657359027997264) {
        double t = expm1(x), w = 1 + t;
        return x < 0x1p-55 ? w : 1 + (t * t) / (w + w);
    }
    if (x < 22) {
        double t = exp(x);
        return 0.5 * t + 0.5 / t;
    }
    if (x < 709.7822265625)
        return 0.5 * exp(x);
    double w = exp(0.5 * x);
    return 0.5 * w * w;
}

double v8_sinh(double x)
{
    double size = fabs(x), half = x < 0 ? -0.5 : 0.5;
    if (size < 22) {
        if (size < 0x1p-28)
            return x;
        double t = expm1(size);
        return size < 1 ? half * (2 * t - t * t / (t + 1)) : half * (t + t / (t + 1));
    }
    if (size < 709.7822265625)
        return half * exp(size);
    double w = exp(0.5 * size);
    return isnan(x) || isinf(x) ? x : half * w * w;
}

double v8_tanh(double x)
{
    double size = fabs(x), z;
    if (isnan(x))
        return x;
    if (size >= 22) {
        z = 1;
    } else if (size < 0x1p-28) {
        return x;
    } else if (size >= 1) {
        z = 1 - 2 / (expm1(2 * size) + 2);
    } else {
        double t = expm1(-2 * size);
        z = -t / (t + 2);
    }
    return x < 0 ? -z : z;
}

/* 2^y for the sum of a high and a low part. */
static double power_of_two(double high, double low)
{
    double sum = low + high;
    int k = 0;
    if (fabs(sum) > 0.5) {
        k = (int)floor(sum + 0.5);
        high -= k;
    }
    double t = without_low_bits(low + high);
    double u = t * 6.93147182464599609375e-01;
    double v = (low - (t - high)) * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09;
    double z = u + v, w = v - (z - u);
    t = z * z;
    double t1 = z - t * (1.66666666666666019037e-01 +
                         t * (-2.77777777770155933842e-03 +
                              t * (6.61375632143793436117e-05 +
                                   t * (-1.65339022054652515390e-06 +
                                        t * 4.13813679705723846039e-08))));
    /* fdlibm divides by `t1 - 2` and then subtracts; V8 divides by the whole. */
    double r = z * t1 / ((t1 - 2) - (w + z * w));
    return scalbn(1 - (r - z), k);
}

static int is_odd(double y)
{
    return fabs(y) < 0x1p53 && fmod(y, 2) != 0;
}

/* x^y = 2^(y log2 x), with log2 x in two parts. */
double v8_pow(double x, double y)
{
    if (y == 0)
        return 1;
    if (isnan(x) || isnan(y))
        return x + y;
    int whole = floor(y) == y;
    double size = fabs(x);
    if (isinf(y))
        return size == 1 ? NAN : (size > 1) == (y > 0) ? INFINITY : 0;
    if (y == 1)
        return x;
    if (y == -1)
        return 1 / x;
    if (y == 2)
        return x * x;
    if (y == 0.5 && !signbit(x))
        return sqrt(x);
    if (isinf(x) || x == 0 || size == 1) {
        double z = y < 0 ? 1 / size : size;
        if (signbit(x)) {
            if (size == 1 && !whole)
                return NAN;
            if (whole && is_odd(y))
                z = -z;
        }
        return z;
    }
    if (x < 0 && !whole)
        return NAN;
    double sign = x < 0 && is_odd(y) ? -1 : 1, t1, t2;
    if (fabs(y) > 0x1p31) {
        if (fabs(y) > 0x1p64 || size < 0.9999990463256836 || size >= 1.0000009536743164) {
            if (fabs(y) > 0x1p64 ? size < 1 : size < 0.9999990463256836)
                return sign * (y < 0 ? INFINITY : 0);
            if (fabs(y) > 0x1p64 ? size > 1 : size >= 1.0000009536743164)
                return sign * (y > 0 ? INFINITY : 0);
        }
        /* Near 1, log(x) = t - t²/2 + t³/3 - t⁴/4 is exact enough. */
        double t = size - 1;
        double w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25));
        double u = 1.44269502162933349609e+00 * t;
        double v = t * 1.92596299112661746887e-08 - w * 1.44269504088896338700e+00;
        t1 = without_low_bits(u + v);
        t2 = v - (t1 - u);
    } else {
        int n = 0;
        if (size < 0x1p-1022) {
            size *= 0x1p53;
            n -= 53;
        }
        int32_t high = bits_of(size) >> 32;
        n += (high >> 20) - 1023;
        int32_t j = high & 0xfffff;
        high = j | 0x3ff00000;
        int k = 0;
        if (j <= 0x3988e) {
            k = 0;
        } else if (j < 0xbb67a) {
            k = 1;
        } else {
            n++;
            high -= 0x100000;
        }
        size = of_bits((uint64_t)(uint32_t)high << 32 | (bits_of(size) & 0xffffffff));
        double base = k ? 1.5 : 1;
        double u = size - base, v = 1 / (size + base), ss = u * v;
        double s_high = without_low_bits(ss);
        int32_t t_high_bits = ((high >> 1) | 0x20000000) + 0x80000 + (k << 18);
        double t_high = of_bits((uint64_t)(uint32_t)t_high_bits << 32);
        double t_low = size - (t_high - base);
        double s_low = v * ((u - s_high * t_high) - s_high * t_low);
        double s2 = ss * ss;
        double r = s2 * s2 *
                   (5.99999999999994648725e-01 +
                    s2 * (4.28571428578550184252e-01 +
                          s2 * (3.33333329818377432918e-01 +
                                s2 * (2.72728123808534006489e-01 +
                                      s2 * (2.30660745775561754067e-01 +
                                            s2 * 2.06975017800338417784e-01)))));
        r += s_low * (s_high + ss);
        s2 = s_high * s_high;
        t_high = without_low_bits(3 + s2 + r);
        t_low = r - ((t_high - 3) - s2);
        u = s_high * t_high;
        v = s_low * t_high + t_low * ss;
        double p_high = without_low_bits(u + v), p_low = v - (p_high - u);
        double z_high = 9.61796700954437255859e-01 * p_high;
        double z_low = -7.02846165095275826516e-09 * p_high + p_low * 9.61796693925975554329e-01 +
                       (k ? 1.35003920212974897128e-08 : 0);
        double t = n, log_base = k ? 5.84962487220764160156e-01 : 0;
        t1 = without_low_bits(((z_high + z_low) + log_base) + t);
        t2 = z_low - (((t1 - t) - log_base) - z_high);
    }
    double y_high = without_low_bits(y);
    double low = (y - y_high) * t1 + y * t2, high = y_high * t1, z = low + high;
    if (z >= 1024 && (z > 1024 || low + 8.0085662595372944372e-17 > z - high))
        return sign * INFINITY;
    if (z <= -1075 && (z < -1075 || low <= z - high))
        return sign * 0;
    return sign * power_of_two(high, low);
}

/* Relative to the largest side, with compensation of rounding errors (W. Kahan). */
double root_of_squares(const double *sides, size_t count)
{
    double largest = 0, sum = 0, compensation = 0;
    int undefined = 0;
    for (size_t i = 0; i < count; i++) {
        undefined |= isnan(sides[i]);
        largest = fmax(largest, fabs(sides[i]));
    }
    if (isinf(largest))
        return INFINITY;
    if (undefined)
        return NAN;
    if (largest == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        double side = fabs(sides[i]) / largest;
        double summand = side * side - compensation;
        double next = sum + summand;
        compensation = (next - sum) - summand;
        sum = next;
    }
    return sqrt(sum) * largest;
}

double v8_asinh(double x)
{
    double size = fabs(x), t = x * x, value;
    if (!(size < INFINITY) || size < 0x1p-28)
        return x;
    if (size > 0x1p28)
        value = v8_log(size) + 6.93147180559945286227e-01;
    else if (size > 2)
        value = v8_log(2 * size + 1 / (sqrt(t + 1) + size));
    else
        value = log1p(size + t / (1 + sqrt(1 + t)));
    return x < 0 ? -value : value;
}

double v8_acosh(double x)
{
    if (!(x > 1))
        return x == 1 ? 0 : NAN;
    if (x >= 0x1p28)
        return v8_log(x) + 6.93147180559945286227e-01;
    if (x > 2)
        return v8_log(2 * x - 1 / (x + sqrt(x * x - 1)));
    double t = x - 1;
    return log1p(t + sqrt(2 * t + t * t));
}

double v8_atanh(double x)
{
    double size = fabs(x), t;
    if (!(size < 1))
        return size == 1 ? x * INFINITY : NAN;
    if (size < 0x1p-28)
        return x;
    t = size + size;
    t = size < 0.5 ? t + t * size / (1 - size) : t / (1 - size);
    return (x < 0 ? -0.5 : 0.5) * log1p(t);
}

/* The sine of the sum of x and a small y, between -pi/4 and pi/4. */
static double sine_near_0(double x, double y)
{
    if (fabs(x) < 0x1p-27)
        return x;
    double z = x * x, v = z * x;
    double r = 8.33333333332248946124e-03 +
               z * (-1.98412698298579493134e-04 +
                    z * (2.75573137070700676789e-06 +
                         z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    const double first = -1.66666666666666324348e-01;
    return y == 0 ? x + v * (first + z * r) : x - ((z * (0.5 * y - v * r) - y) - v * first);
}

static double cosine_near_0(double x, double y)
{
    uint32_t high = bits_of(x) >> 32 & 0x7fffffff;
    if (high < 0x3e400000)
        return 1;
    double z = x * x;
    double r = z * (4.16666666666666019037e-02 +
                    z * (-1.38888888888741095749e-03 +
                         z * (2.48015872894767294178e-05 +
                              z * (-2.75573143513906633035e-07 +
                                   z * (2.08757232129817482790e-09 +
                                        z * -1.13596475577881948265e-11)))));
    if (high < 0x3fd33333)
        return 1 - (0.5 * z - (z * r - x * y));
    /* About a quarter of x is subtracted exactly. */
    double part = high > 0x3fe90000 ? 0.28125 : of_bits((uint64_t)(high - 0x200000) << 32);
    return (1 - part) - ((0.5 * z - part) - (z * r - x * y));
}

/* Reduces x to the sum of two parts between -pi/4 and pi/4 (W. J. Cody and W. Waite). Returns the
 * number of quarters of a turn that were subtracted. */
static int reduced(double x, double parts[2])
{
    static const double pi_half[3][2] = {
        {1.57079632673412561417e+00, 6.07710050650619224932e-11},
        {6.07710050630396597660e-11, 2.02226624879595063154e-21},
        {2.02226624871116645580e-21, 8.47842766036889956997e-32},
    };
    double size = fabs(x);
    int quarters = size < 2.356194490192345 ? 1 : (int)(size * 6.36619772367581382433e-01 + 0.5);
    double rest = size - quarters * pi_half[0][0], low = quarters * pi_half[0][1];
    int exponent = bits_of(size) >> 52;
    static const int lost_bits[] = {16, 49};
    for (int step = 1;; step++) {
        parts[0] = rest - low;
        int lost = exponent - (int)(bits_of(parts[0]) >> 52 & 0x7ff);
        if (step == 3 || lost <= lost_bits[step - 1])
            break;
        double before = rest;
        low = quarters * pi_half[step][0];
        rest = before - low;
        low = quarters * pi_half[step][1] - ((before - rest) - low);
    }
    parts[1] = (rest - parts[0]) - low;
    if (x >= 0)
        return quarters;
    parts[0] = -parts[0];
    parts[1] = -parts[1];
    return -quarters;
}

static const double PI_QUARTER = 0.78539816339744831, LARGE = 1647099.0;

double v8_sin(double x)
{
    if (fabs(x) <= PI_QUARTER)
        return sine_near_0(x, 0);
    if (!(fabs(x) < LARGE))
        return sin(x);
    double parts[2];
    int quarters = reduced(x, parts);
    double value = quarters & 1 ? cosine_near_0(parts[0], parts[1])
                                : sine_near_0(parts[0], parts[1]);
    return quarters & 2 ? -value : value;
}

double v8_cos(double x)
{
    if (fabs(x) <= PI_QUARTER)
        return cosine_near_0(x, 0);
    if (!(fabs(x) < LARGE))
        return cos(x);
    double parts[2];
    int quarters = reduced(x, parts);
    double value = quarters & 1 ? sine_near_0(parts[0], parts[1])
                                : cosine_near_0(parts[0], parts[1]);
    return (quarters + 1) & 2 ? -value : value;
}
