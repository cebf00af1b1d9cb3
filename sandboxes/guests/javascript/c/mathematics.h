#ifndef MATHEMATICS_H
#define MATHEMATICS_H

#include <math.h>
#include <stddef.h>

double v8_acosh(double x);
double v8_asinh(double x);
double v8_atanh(double x);
double v8_cos(double x);
double v8_cosh(double x);
double v8_log(double x);
double v8_log10(double x);
double v8_pow(double x, double y);
double v8_sin(double x);
double v8_sinh(double x);
double v8_tanh(double x);

/* The square root of the sum of squares. */
double root_of_squares(const double *sides, size_t count);

#endif
