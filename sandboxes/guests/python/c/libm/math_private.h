/* Definitions that the files of glibc's `sysdeps/ieee754/dbl-64` need from the
 * rest of glibc.
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

/* Machine instructions that `-fno-builtin` would turn into calls. */
#define fabs __builtin_fabs
#define sqrt __builtin_sqrt
#define copysign __builtin_copysign

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
#define libm_alias_finite(name, other)
#define LIBM_SVID_COMPAT 0

#define SET_RESTORE_ROUND(mode)
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

/* glibc's `frexp` stores 0 for a value that is not finite; the one of wasi-libc stores nothing. */
static inline double assay_frexp(double x, int *exponent)
{
    *exponent = 0;
    return isfinite(x) ? frexp(x, exponent) : x;
}

#endif
