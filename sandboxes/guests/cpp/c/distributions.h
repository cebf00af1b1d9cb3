// Distributions with the values of GCC's library, for the same numbers of the engine: gamma by
// Marsaglia and Tsang's method, Poisson and binomial by rejection as in L. Devroye, "Non-Uniform
// Random Variate Generation", chapter X. `__normal` is kept between calls.
#ifndef _LIBCPP___RANDOM_ASSAY_DISTRIBUTIONS_H
#define _LIBCPP___RANDOM_ASSAY_DISTRIBUTIONS_H

#include <__config>
#include <__random/generate_canonical.h>
#include <cmath>
#include <limits>

#if !defined(_LIBCPP_HAS_NO_PRAGMA_SYSTEM_HEADER)
#  pragma GCC system_header
#endif

_LIBCPP_PUSH_MACROS
#include <__undef_macros>

extern "C" double lgamma_r(double, int*);

_LIBCPP_BEGIN_NAMESPACE_STD

template <class _Real, class _Engine>
_LIBCPP_HIDE_FROM_ABI _Real __assay_canonical(_Engine& __engine) {
  return std::generate_canonical<_Real, numeric_limits<_Real>::digits>(__engine);
}

template <class _Engine>
_LIBCPP_HIDE_FROM_ABI double __assay_exponential(_Engine& __engine) {
  return -std::log(1.0 - std::__assay_canonical<double>(__engine));
}

inline _LIBCPP_HIDE_FROM_ABI double __assay_lgamma(double __value) {
  int __sign;
  return lgamma_r(__value, &__sign);
}

// Half of what is below 1, for rounding, and the limit of results.
const double __assay_half = (1 - numeric_limits<double>::epsilon()) / 2;

template <class _Int>
_LIBCPP_HIDE_FROM_ABI double __assay_limit() {
  return double(numeric_limits<_Int>::max()) + __assay_half;
}

template <class _Real, class _Engine, class _Normal>
_LIBCPP_HIDE_FROM_ABI _Real
__assay_gamma(_Engine& __engine, _Normal& __normal, _Real __alpha, _Real __beta) {
  const _Real __larger = __alpha < _Real(1) ? __alpha + _Real(1) : __alpha;
  const _Real __d      = __larger - _Real(1) / _Real(3);
  const _Real __c      = _Real(1) / std::sqrt(_Real(9) * __d);
  _Real __u, __v, __n;
  do {
    do {
      __n = __normal(__engine);
      __v = _Real(1) + __c * __n;
    } while (__v <= 0);
    __v = __v * __v * __v;
    __u = std::__assay_canonical<_Real>(__engine);
  } while (__u > _Real(1) - _Real(0.0331) * __n * __n * __n * __n &&
           std::log(__u) > _Real(0.5) * __n * __n + __d * (_Real(1) - __v + std::log(__v)));
  if (__alpha == __larger)
    return __d * __v * __beta;
  do
    __u = std::__assay_canonical<_Real>(__engine);
  while (__u == 0);
  return std::pow(__u, _Real(1) / __alpha) * __d * __v * __beta;
}

template <class _Int, class _Engine>
_LIBCPP_HIDE_FROM_ABI _Int __assay_geometric(_Engine& __engine, double __p) {
  const double __scale = std::log(1.0 - __p);
  double __value;
  do
    __value = std::floor(std::log(1.0 - std::__assay_canonical<double>(__engine)) / __scale);
  while (__value >= std::__assay_limit<_Int>());
  return _Int(__value + __assay_half);
}

template <class _Int, class _Engine, class _Normal>
_LIBCPP_HIDE_FROM_ABI _Int
__assay_poisson(_Engine& __engine, _Normal& __normal, double __mean) {
  if (__mean < 12) {
    const double __least = std::exp(-__mean);
    double __product     = 1;
    _Int __count         = 0;
    for (;; ++__count) {
      __product *= std::__assay_canonical<double>(__engine);
      if (!(__product > __least))
        return __count;
    }
  }
  const double __quarter_pi = 0.7853981633974483096156608458198757;
  const double __m          = std::floor(__mean);
  const double __log_mean   = std::log(__mean);
  const double __log_m      = std::__assay_lgamma(__m + 1);
  const double __root       = std::sqrt(__m);
  const double __dx         = std::sqrt(2 * __m * std::log(32 * __m / __quarter_pi));
  const double __d          = std::round(std::fmax(6.0, std::fmin(__m, __dx)));
  const double __cx         = 2 * __m + __d;
  const double __other_root = std::sqrt(__cx / 2);
  const double __inverse    = 1 / __cx;
  const double __c1         = __root * 1.2533141373155002512078826424055226;
  const double __c2  = std::sqrt(__quarter_pi * __cx) * std::exp(__inverse) + __c1;
  const double __c3  = __c2 + 1;
  const double __c4  = __c3 + 1;
  const double __c5  = __c4 + 1.0129030479320018583185514777512983;
  const double __end = 2 * __cx * std::exp(-__d * __inverse * (1 + __d / 2)) / __d + __c5;
  for (;;) {
    const double __u = __end * std::__assay_canonical<double>(__engine);
    const double __e = std::__assay_exponential(__engine);
    double __x, __w = 0;
    if (__u <= __c1) {
      const double __n = __normal(__engine);
      __x              = std::floor(-std::fabs(__n) * __root - 1);
      __w              = -__n * __n / 2;
      if (__x < -__m)
        continue;
    } else if (__u <= __c2) {
      const double __n = __normal(__engine);
      const double __y = 1 + std::fabs(__n) * __other_root;
      __x              = std::ceil(__y);
      __w              = __y * (2 - __y) * __inverse;
      if (__x > __d)
        continue;
    } else if (__u <= __c3) {
      __x = -1;
    } else if (__u <= __c4) {
      __x = 0;
    } else if (__u <= __c5) {
      __x = 1;
      __w = 0.0128205128205128205128205128205128;
    } else {
      const double __y = __d + std::__assay_exponential(__engine) * (2 * __cx) / __d;
      __x              = std::ceil(__y);
      __w              = -__d * __inverse * (1 + __y / 2);
    }
    if (__w - __e - __x * __log_mean > __log_m - std::__assay_lgamma(__x + __m + 1))
      continue;
    if (__x + __m < std::__assay_limit<_Int>())
      return _Int(__x + __m + __assay_half);
  }
}

// The number of successes, from the times until the next one.
template <class _Int, class _Engine>
_LIBCPP_HIDE_FROM_ABI _Int __assay_waiting(_Engine& __engine, _Int __trials, double __most) {
  _Int __count = 0;
  double __sum = 0;
  do {
    if (__trials == __count)
      return __count;
    __sum += std::__assay_exponential(__engine) / (__trials - __count);
    ++__count;
  } while (__sum <= __most);
  return __count - 1;
}

template <class _Int, class _Engine, class _Normal>
_LIBCPP_HIDE_FROM_ABI _Int
__assay_binomial_half(_Engine& __engine, _Normal& __normal, _Int __trials, double __p) {
  const double __t = __trials;
  if (__t * __p < 8)
    return std::__assay_waiting(__engine, __trials, -std::log(1 - __p));
  const double __quarter_pi = 0.7853981633974483096156608458198757;
  const double __root       = 1.2533141373155002512078826424055226;
  const double __np         = std::floor(__t * __p);
  const double __pa         = __np / __t;
  const double __q          = 1 - __pa;
  const double __d1         = std::round(std::fmax(
      1.0, std::sqrt(__np * __q * std::log(32 * __np / (81 * __quarter_pi * __q)))));
  const double __d2 = std::round(std::fmax(
      1.0, std::sqrt(__np * __q * std::log(32 * __t * __q / (__quarter_pi * __pa)))));
  const double __s1   = std::sqrt(__np * __q) * (1 + __d1 / (4 * __np));
  const double __s2   = std::sqrt(__np * __q) * (1 + __d2 / (4 * (__t * __q)));
  const double __c    = 2 * __d1 / __np;
  const double __a1   = std::exp(__c) * __s1 * __root;
  const double __a2   = __a1 + __s2 * __root;
  const double __s1s  = __s1 * __s1;
  const double __s2s  = __s2 * __s2;
  const double __a3   = __a2 + std::exp(__d1 / (__t * __q)) * 2 * __s1s / __d1 *
                                 std::exp(-__d1 * __d1 / (2 * __s1s));
  const double __end  = __a3 + 2 * __s2s / __d2 * std::exp(-__d2 * __d2 / (2 * __s2s));
  const double __lf   = std::__assay_lgamma(__np + 1) + std::__assay_lgamma(__t - __np + 1);
  const double __lpq  = std::log(__pa / __q);
  const double __rest = -std::log(1 - (__p - __pa) / __q);
  for (;;) {
    double __x, __v;
    const double __u = __end * std::__assay_canonical<double>(__engine);
    if (__u <= __a2) {
      const bool __above = __u <= __a1;
      const double __n   = __normal(__engine);
      const double __y   = (__above ? __s1 : __s2) * std::fabs(__n);
      if (__y >= (__above ? __d1 : __d2))
        continue;
      const double __e = std::__assay_exponential(__engine);
      __x              = std::floor(__above ? __y : -__y);
      __v              = -__e - __n * __n / 2 + (__above ? __c : 0.0);
    } else {
      const double __e1 = std::__assay_exponential(__engine);
      const double __e2 = std::__assay_exponential(__engine);
      if (__u <= __a3) {
        const double __y = __d1 + 2 * __s1s * __e1 / __d1;
        __x              = std::floor(__y);
        __v              = -__e2 + __d1 * (1 / (__t - __np) - __y / (2 * __s1s));
      } else {
        const double __y = __d2 + 2 * __s2s * __e1 / __d2;
        __x              = std::floor(-__y);
        __v              = -__e2 - __d2 * __y / (2 * __s2s);
      }
    }
    if (__x < -__np || __x > __t - __np)
      continue;
    const double __lfx =
        std::__assay_lgamma(__np + __x + 1) + std::__assay_lgamma(__t - (__np + __x) + 1);
    if (__v > __lf - __lfx + __x * __lpq || __x + __np >= std::__assay_limit<_Int>())
      continue;
    const _Int __found = _Int(__x + __np + __assay_half);
    return __found + std::__assay_waiting(__engine, _Int(__trials - __found), __rest);
  }
}

template <class _Int, class _Engine, class _Normal>
_LIBCPP_HIDE_FROM_ABI _Int
__assay_binomial(_Engine& __engine, _Normal& __normal, _Int __trials, double __p) {
  const double __half = __p <= 0.5 ? __p : 1 - __p;
  const _Int __found  = std::__assay_binomial_half(__engine, __normal, __trials, __half);
  return __half == __p ? __found : __trials - __found;
}

_LIBCPP_END_NAMESPACE_STD

_LIBCPP_POP_MACROS

#endif
