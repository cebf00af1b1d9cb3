/* Definitions that the files of glibc's `sysdeps/ieee754/dbl-64` and `flt-32` need from the rest of
 * glibc.
 *
 * This header and the short headers in this folder replace the internal headers
 * of glibc with the same names. WebAssembly has one rounding mode and no
 * floating-point status, so macros that set or restore them are empty. Symbols
 * have no versions and no aliases. */
#ifndef ASSAY_LIBM_MATH_PRIVATE_H
#define ASSAY_LIBM_MATH_PRIVATE_H

#include <errno.h>
#include <math.h>
#include <stdint.h>

#ifdef ASSAY_FUSED
/* A macro of glibc that selects the tables and error terms for fused operations. */
#undef __FP_FAST_FMA
#define __FP_FAST_FMA 1
#endif

/* Map internal names to the public ones: calls inside the library are ordinary calls. */
#define __sin sin
#define __cos cos
#define __tan tan
#define __atan atan
#define __ieee754_asin asin
#define __ieee754_acos acos
#define __ieee754_atan2 assay_atan2
#define __ieee754_sinh sinh
#define __ieee754_cosh cosh
#define __tanh tanh
#define __asinh asinh
#define __ieee754_acosh acosh
#define __ieee754_atanh atanh
#define __exp exp
#define __ieee754_exp exp
#define __exp2 exp2
#define __expm1 expm1
#define __log log
#define __ieee754_log log
#define __log2 log2
#define __ieee754_log10 log10
#define __log1p log1p
#define __pow pow
#define __hypot hypot
#define __cbrt cbrt
#define __erf erf
#define __erfc erfc
#define __ldexp ldexp
#define __sincos sincos
#define __exp10 exp10
#define __ieee754_exp2 exp2
#define __ieee754_exp10 exp10
#define __ieee754_pow pow
#define __scalbn scalbn
#define __ieee754_lgamma_r __lgamma_r
#define __ieee754_gamma_r assay_gamma_r
#define __ieee754_lgammaf_r __lgammaf_r
#define __ieee754_gammaf_r assay_gammaf_r
#define __ieee754_j0 j0
#define __ieee754_j0f j0f
#define __ieee754_j1 j1
#define __ieee754_j1f j1f
#define __ieee754_jn jn
#define __ieee754_jnf jnf
#define __ieee754_y0 y0
#define __ieee754_y0f y0f
#define __ieee754_y1 y1
#define __ieee754_y1f y1f
#define __ieee754_yn yn
#define __ieee754_ynf ynf
#define __ieee754_acosf acosf
#define __ieee754_asinf asinf
#define __ieee754_atanhf atanhf
#define __ieee754_acoshf acoshf
#define __ieee754_atan2f atan2f
#define __ieee754_coshf coshf
#define __ieee754_sinhf sinhf
#define __ieee754_expf expf
#define __ieee754_exp2f exp2f
#define __ieee754_exp10f exp10f
#define __ieee754_logf logf
#define __ieee754_log2f log2f
#define __ieee754_log10f log10f
#define __ieee754_powf powf
#define __ieee754_hypotf hypotf
#define __acoshf acoshf
#define __acosf acosf
#define __asinf asinf
#define __asinhf asinhf
#define __atanf atanf
#define __atan2f atan2f
#define __atanhf atanhf
#define __cbrtf cbrtf
#define __cosf cosf
#define __coshf coshf
#define __erff erff
#define __erfcf erfcf
#define __expf expf
#define __exp2f exp2f
#define __exp10f exp10f
#define __expm1f expm1f
#define __hypotf hypotf
#define __logf logf
#define __log10f log10f
#define __log1pf log1pf
#define __log2f log2f
#define __powf powf
#define __sinf sinf
#define __sinhf sinhf
#define __sincosf sincosf
#define __tanf tanf
#define __tanhf tanhf
#define __ldexpf ldexpf
#define __scalbnf scalbnf
#define __frexpf frexpf
#define __frexp assay_frexp

/* The C library uses these names for its own tables and functions. */
#define __exp_data assay_exp_data
#define __log_data assay_log_data
#define __log2_data assay_log2_data
#define __pow_log_data assay_pow_log_data
#define __sincostab assay_sincostab
#define __branred assay_branred
#define __math_oflow assay_math_oflow
#define __math_uflow assay_math_uflow
#define __math_may_uflow assay_math_may_uflow
#define __math_divzero assay_math_divzero
#define __math_invalid assay_math_invalid
#define __math_check_oflow assay_math_check_oflow
#define __math_check_uflow assay_math_check_uflow
#define __exp2f_data assay_exp2f_data
#define __log2f_data assay_log2f_data
#define __logf_data assay_logf_data
#define __powf_log2_data assay_powf_log2_data
#define __math_oflowf assay_math_oflowf
#define __math_uflowf assay_math_uflowf
#define __math_may_uflowf assay_math_may_uflowf
#define __math_divzerof assay_math_divzerof
#define __math_invalidf assay_math_invalidf

/* Machine instructions that `-fno-builtin` would turn into calls. */
#define fabs __builtin_fabs
#define sqrt __builtin_sqrt
#define copysign __builtin_copysign
#define fabsf __builtin_fabsf
#define sqrtf __builtin_sqrtf
#define copysignf __builtin_copysignf

/* Extensions of glibc's `math.h`. */
#define M_PIf 3.141592653589793f
#define M_SQRT1_2f 0.7071067811865475f

#define attribute_hidden __attribute__((visibility("hidden")))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __glibc_likely
#undef __glibc_unlikely
#define __glibc_likely(condition) __builtin_expect((condition), 1)
#define __glibc_unlikely(condition) __builtin_expect((condition), 0)
#define __set_errno(value) (errno = (value))

#define hidden_def(name)
#define libm_hidden_def(name)
#define strong_alias(name, other)
#define weak_alias(name, other)
#define versioned_symbol(library, name, other, version)
#define libm_alias_double(name, other)
#define libm_alias_double_other(name, other)
#define libm_alias_float(name, other)
#define libm_alias_float_other(name, other)
#define libm_alias_finite(name, other)
#define LIBM_SVID_COMPAT 0

#define SET_RESTORE_ROUND(mode)
#define SET_RESTORE_ROUNDF(mode)
#define SET_RESTORE_ROUND_53BIT(mode)
#define math_opt_barrier(x) (x)
#define math_force_eval(x) ((void)(x))
#define math_narrow_eval(x) (x)
#define math_check_force_underflow(x) ((void)0)
#define math_check_force_underflow_nonneg(x) ((void)0)
#define FIX_INT_FP_CONVERT_ZERO 0
#define HIGH_ORDER_BIT_IS_SET_FOR_SNAN 0
#define USE_FMAX_BUILTIN 0
#define USE_FMIN_BUILTIN 0
#define DIAG_PUSH_NEEDS_COMMENT
#define DIAG_POP_NEEDS_COMMENT
#define DIAG_IGNORE_NEEDS_COMMENT(version, option)
#define DIAG_IGNORE_Os_NEEDS_COMMENT(version, option)

static inline uint64_t assay_bits(double x)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double assay_double(uint64_t bits)
{
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t assay_float_bits(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float assay_float(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

#define GET_FLOAT_WORD(word, x) ((word) = (int32_t)assay_float_bits(x))
#define SET_FLOAT_WORD(x, word) ((x) = assay_float((uint32_t)(word)))

static inline int assay_is_signaling(float x)
{
    return isnan(x) && !(assay_float_bits(x) & 0x400000);
}

#define issignaling assay_is_signaling

#define LITTLE_ENDI 1
#define HIGH_HALF 1
#define LOW_HALF 0

#define EXTRACT_WORDS(high, low, x)                                                                \
    ((high) = (int32_t)(assay_bits(x) >> 32), (low) = (uint32_t)assay_bits(x))
#define GET_HIGH_WORD(high, x) ((high) = (int32_t)(assay_bits(x) >> 32))
#define GET_LOW_WORD(low, x) ((low) = (uint32_t)assay_bits(x))
#define EXTRACT_WORDS64(bits, x) ((bits) = assay_bits(x))
#define INSERT_WORDS(x, high, low)                                                                 \
    ((x) = assay_double((uint64_t)(uint32_t)(high) << 32 | (uint32_t)(low)))
#define INSERT_WORDS64(x, bits) ((x) = assay_double((uint64_t)(bits)))
#define SET_HIGH_WORD(x, high)                                                                     \
    ((x) = assay_double((uint64_t)(uint32_t)(high) << 32 | (uint32_t)assay_bits(x)))
#define SET_LOW_WORD(x, low) ((x) = assay_double((assay_bits(x) >> 32) << 32 | (uint32_t)(low)))

/* Functions of glibc that no header of the C library declares. */
double exp10(double x);
float exp10f(float x);
void sincos(double x, double *sine, double *cosine);
void sincosf(float x, float *sine, float *cosine);
float j0f(float x);
float j1f(float x);
float jnf(int order, float x);
float y0f(float x);
float y1f(float x);
float ynf(int order, float x);
double __lgamma_r(double x, int *sign);
float __lgammaf_r(float x, int *sign);
double assay_gamma_r(double x, int *sign);
float assay_gammaf_r(float x, int *sign);
double __gamma_product(double x, double x_eps, int count, double *error);
float __gamma_productf(float x, float x_eps, int count, float *error);
double __lgamma_neg(double x, int *sign);
float __lgamma_negf(float x, int *sign);
double __lgamma_product(double t, double x, double x_eps, int count);
float __lgamma_productf(float t, float x, float x_eps, int count);
float __kernel_tanf(float x, float y, int kind);

/* glibc's `frexp` stores 0 for a value that is not finite; the one of wasi-libc stores nothing. */
static inline double assay_frexp(double x, int *exponent)
{
    *exponent = 0;
    return isfinite(x) ? frexp(x, exponent) : x;
}

#endif
