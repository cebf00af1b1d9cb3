// Values of random distributions and shuffles as in GCC's library: the same engine gives programs
// the same numbers. Uniform integers are D. Lemire's multiplication ("Fast Random Integer
// Generation in an Interval", 2019) for engines of 32 or 64 bits, and division for others.
#ifndef ASSAY_UNIFORM_H
#define ASSAY_UNIFORM_H

#include <__config>
#include <__iterator/iterator_traits.h>
#include <__type_traits/common_type.h>
#include <__type_traits/make_unsigned.h>
#include <__type_traits/remove_reference.h>
#include <cstddef>
#include <cstdint>

_LIBCPP_PUSH_MACROS
#include <__undef_macros>

_LIBCPP_BEGIN_NAMESPACE_STD

// A number below `__range` from an engine of which all bits are random.
template <class _Wide, class _Narrow, class _Engine>
_LIBCPP_HIDE_FROM_ABI _Narrow __assay_multiply(_Engine& __engine, _Narrow __range) {
  _Wide __product  = _Wide(_Narrow(__engine())) * __range;
  _Narrow __lowest = _Narrow(__product);
  if (__lowest < __range) {
    for (_Narrow __threshold = _Narrow(-__range) % __range; __lowest < __threshold;) {
      __product = _Wide(_Narrow(__engine())) * __range;
      __lowest  = _Narrow(__product);
    }
  }
  return _Narrow(__product >> (sizeof(_Narrow) * 8));
}

// A number from 0 to `__most`.
template <class _UInt, class _Engine>
_LIBCPP_HIDE_FROM_ABI _UInt __assay_uniform(_Engine& __engine, _UInt __most) {
  const _UInt __least        = _Engine::min();
  const _UInt __engine_range = _UInt(_Engine::max()) - __least;
  if (__engine_range > __most) {
    const _UInt __count = __most + 1;
    if (__engine_range == UINT64_MAX)
      return _UInt(std::__assay_multiply<unsigned __int128, uint64_t>(__engine, __count));
    if (__engine_range == UINT32_MAX)
      return _UInt(std::__assay_multiply<uint64_t, uint32_t>(__engine, uint32_t(__count)));
    const _UInt __scale = __engine_range / __count;
    _UInt __value;
    do
      __value = _UInt(__engine()) - __least;
    while (__value >= __count * __scale);
    return __value / __scale;
  }
  if (__engine_range == __most)
    return _UInt(__engine()) - __least;
  const _UInt __digit = __engine_range + 1;
  _UInt __value, __high;
  do {
    __high  = __digit * std::__assay_uniform<_UInt>(__engine, __most / __digit);
    __value = __high + (_UInt(__engine()) - __least);
  } while (__value > __most || __value < __high);
  return __value;
}

template <class _Int, class _Engine>
_LIBCPP_HIDE_FROM_ABI _Int __assay_uniform_int(_Engine& __engine, _Int __first, _Int __last) {
  using _UInt = typename common_type<typename _Engine::result_type, __make_unsigned_t<_Int> >::type;
  const _UInt __most = _UInt(__last) - _UInt(__first);
  return _Int(std::__assay_uniform<_UInt>(__engine, __most) + _UInt(__first));
}

// Each element is swapped with one before it. Two positions come from one number if the engine's
// range is large enough.
template <class _Policy, class _Iterator, class _Engine>
_LIBCPP_HIDE_FROM_ABI void __assay_shuffle(_Iterator __first, _Iterator __last, _Engine& __engine) {
  using _Difference = typename iterator_traits<_Iterator>::difference_type;
  using _Index      = __make_unsigned_t<_Difference>;
  using _UInt       = typename common_type<typename _Engine::result_type, _Index>::type;
  if (__first == __last)
    return;
  const _UInt __size  = _UInt(__last - __first);
  const _UInt __range = _UInt(_Engine::max()) - _UInt(_Engine::min());
  _Iterator __at      = __first + 1;
  auto __swap         = [&](_UInt __with) {
    _Policy::iter_swap(__at, __first + _Difference(__with));
    ++__at;
  };
  if (__range / __size >= __size) {
    if (__size % 2 == 0)
      __swap(std::__assay_uniform_int<_Index>(__engine, 0, 1));
    while (__at != __last) {
      const _UInt __count = _UInt(__at - __first) + 1;
      const _UInt __both =
          std::__assay_uniform_int<_UInt>(__engine, _UInt(0), __count * (__count + 1) - 1);
      __swap(__both / (__count + 1));
      __swap(__both % (__count + 1));
    }
    return;
  }
  while (__at != __last)
    __swap(std::__assay_uniform_int<_Index>(__engine, 0, _Index(__at - __first)));
}

_LIBCPP_END_NAMESPACE_STD

_LIBCPP_POP_MACROS

#endif
