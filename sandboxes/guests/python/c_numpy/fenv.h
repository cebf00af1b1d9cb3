/* Floating-point exceptions as one variable. WASI has no floating-point status, but numpy reports
   singular matrices and integer divisions by zero through it. Operations of the processor set no
   flags. */
#ifndef ASSAY_NUMPY_FENV_H
#define ASSAY_NUMPY_FENV_H

#define FE_INVALID 1
#define FE_DIVBYZERO 4
#define FE_OVERFLOW 8
#define FE_UNDERFLOW 16
#define FE_INEXACT 32
#define FE_ALL_EXCEPT 61
#define FE_TONEAREST 0

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned fexcept_t;
typedef unsigned fenv_t;

extern int assay_floating_point_flags;

static inline int
fetestexcept(int flags)
{
    return assay_floating_point_flags & flags;
}

static inline int
feraiseexcept(int flags)
{
    assay_floating_point_flags |= flags;
    return 0;
}

static inline int
feclearexcept(int flags)
{
    assay_floating_point_flags &= ~flags;
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
