/* `atan2` with the behaviour of glibc's wrapper: an angle too small for a
 * double sets `errno`, which `cmath.phase` raises as an `OverflowError`. */
#include <errno.h>
#include <math.h>

double assay_atan2(double y, double x);

double atan2(double y, double x)
{
    double angle = assay_atan2(y, x);
    if (angle == 0 && y != 0 && isfinite(x))
        errno = ERANGE;
    return angle;
}
