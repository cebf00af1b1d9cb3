// Sorting, selection and heaps as in GCC's library: elements that compare equal end in the same
// order, and comparison functions are called with the same elements. Sorting is introsort with
// the median of three and a last insertion sort, selection is introselect, and stable sorting
// merges runs of seven elements.
#ifndef _LIBCPP___ALGORITHM_ASSAY_ORDER_H
#define _LIBCPP___ALGORITHM_ASSAY_ORDER_H

#include <__algorithm/iterator_operations.h>
#include <__config>
#include <__iterator/iterator_traits.h>
#include <__memory/addressof.h>
#include <__memory/construct_at.h>
#include <__memory/unique_temporary_buffer.h>
#include <__type_traits/is_same.h>
#include <__utility/move.h>
#include <cstddef>

#if !defined(_LIBCPP_HAS_NO_PRAGMA_SYSTEM_HEADER)
#  pragma GCC system_header
#endif

_LIBCPP_PUSH_MACROS
#include <__undef_macros>

#define _ASSAY_FUNCTION _LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX14

_LIBCPP_BEGIN_NAMESPACE_STD

template <class _It>
using __assay_difference = typename iterator_traits<_It>::difference_type;
template <class _It>
using __assay_value = typename iterator_traits<_It>::value_type;

// Heaps. A value rises from a hole, but not above `__top`.
template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __assay_rise(
    _It __first, __assay_difference<_It> __hole, __assay_difference<_It> __top,
    __assay_value<_It>& __value, _Compare& __comp) {
  while (__hole > __top) {
    __assay_difference<_It> __parent = (__hole - 1) / 2;
    if (!__comp(*(__first + __parent), __value))
      break;
    *(__first + __hole) = _IterOps<_AlgPolicy>::__iter_move(__first + __parent);
    __hole              = __parent;
  }
  *(__first + __hole) = std::move(__value);
}

// A hole sinks to a leaf, and a value rises from there.
template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __assay_sink(
    _It __first, __assay_difference<_It> __hole, __assay_difference<_It> __size,
    __assay_value<_It>& __value, _Compare& __comp) {
  const __assay_difference<_It> __top = __hole;
  while (__hole < (__size - 1) / 2) {
    __assay_difference<_It> __child = 2 * __hole + 2;
    if (__comp(*(__first + __child), *(__first + (__child - 1))))
      --__child;
    *(__first + __hole) = _IterOps<_AlgPolicy>::__iter_move(__first + __child);
    __hole              = __child;
  }
  if (__size % 2 == 0 && __hole == (__size - 2) / 2) {
    __assay_difference<_It> __child = 2 * __hole + 1;
    *(__first + __hole)             = _IterOps<_AlgPolicy>::__iter_move(__first + __child);
    __hole                          = __child;
  }
  std::__assay_rise<_AlgPolicy>(__first, __hole, __top, __value, __comp);
}

template <class _AlgPolicy, class _Compare, class _It>
_ASSAY_FUNCTION void __make_heap(_It __first, _It __last, _Compare&& __comp) {
  const __assay_difference<_It> __size = __last - __first;
  for (__assay_difference<_It> __at = __size / 2; __at-- > 0;) {
    __assay_value<_It> __value(_IterOps<_AlgPolicy>::__iter_move(__first + __at));
    std::__assay_sink<_AlgPolicy>(__first, __at, __size, __value, __comp);
  }
}

template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __push_heap(_It __first, _It __last, _Compare& __comp) {
  if (__last - __first < 2)
    return;
  --__last;
  __assay_value<_It> __value(_IterOps<_AlgPolicy>::__iter_move(__last));
  std::__assay_rise<_AlgPolicy>(
      __first, __last - __first, __assay_difference<_It>(0), __value, __comp);
}

// The first element moves to `__to`, whose element replaces it in the heap.
template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __assay_pop_to(_It __first, _It __last, _It __to, _Compare& __comp) {
  __assay_value<_It> __value(_IterOps<_AlgPolicy>::__iter_move(__to));
  *__to = _IterOps<_AlgPolicy>::__iter_move(__first);
  std::__assay_sink<_AlgPolicy>(
      __first, __assay_difference<_It>(0), __last - __first, __value, __comp);
}

template <class _AlgPolicy, class _Compare, class _It>
_ASSAY_FUNCTION void
__pop_heap(_It __first, _It __last, _Compare& __comp, __assay_difference<_It> __size) {
  if (__size > 1) {
    --__last;
    std::__assay_pop_to<_AlgPolicy>(__first, __last, __last, __comp);
  }
}

template <class _AlgPolicy, class _Compare, class _It>
_ASSAY_FUNCTION void __sort_heap(_It __first, _It __last, _Compare&& __comp) {
  while (__last - __first > 1) {
    --__last;
    std::__assay_pop_to<_AlgPolicy>(__first, __last, __last, __comp);
  }
}

template <class _AlgPolicy, class _It, class _Sentinel, class _Compare>
_ASSAY_FUNCTION _It
__assay_heap_select(_It __first, _It __middle, _Sentinel __last, _Compare& __comp) {
  std::__make_heap<_AlgPolicy>(__first, __middle, __comp);
  _It __at = __middle;
  for (; __at != __last; ++__at)
    if (__comp(*__at, *__first))
      std::__assay_pop_to<_AlgPolicy>(__first, __middle, __at, __comp);
  return __at;
}

// Algorithms of ranges replace the first element in more steps.
template <class _AlgPolicy, class _It, class _Sentinel, class _Compare>
_ASSAY_FUNCTION _It
__assay_range_select(_It __first, _It __middle, _Sentinel __last, _Compare& __comp) {
  if (__first == __middle)
    return _IterOps<_AlgPolicy>::next(__middle, __last);
  std::__make_heap<_AlgPolicy>(__first, __middle, __comp);
  _It __at = __middle;
  for (; __at != __last; ++__at) {
    if (__comp(*__at, *__first)) {
      std::__pop_heap<_AlgPolicy>(__first, __middle, __comp, __middle - __first);
      _IterOps<_AlgPolicy>::iter_swap(__middle - 1, __at);
      std::__push_heap<_AlgPolicy>(__first, __middle, __comp);
    }
  }
  return __at;
}

template <class _AlgPolicy, class _Compare, class _It, class _Sentinel>
_ASSAY_FUNCTION _It
__partial_sort_impl(_It __first, _It __middle, _Sentinel __last, _Compare&& __comp) {
  _It __end = is_same<_AlgPolicy, _ClassicAlgPolicy>::value
                ? std::__assay_heap_select<_AlgPolicy>(__first, __middle, __last, __comp)
                : std::__assay_range_select<_AlgPolicy>(__first, __middle, __last, __comp);
  std::__sort_heap<_AlgPolicy>(__first, __middle, __comp);
  return __end;
}

// Insertion. The first form needs an element before `__at` that is not after it.
template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __assay_insert(_It __at, _Compare& __comp) {
  __assay_value<_It> __value(_IterOps<_AlgPolicy>::__iter_move(__at));
  for (_It __before = __at - 1; __comp(__value, *__before); --__before) {
    *__at = _IterOps<_AlgPolicy>::__iter_move(__before);
    __at  = __before;
  }
  *__at = std::move(__value);
}

template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __assay_insertion_sort(_It __first, _It __last, _Compare& __comp) {
  if (__first == __last)
    return;
  for (_It __at = __first + 1; __at != __last; ++__at) {
    if (__comp(*__at, *__first)) {
      __assay_value<_It> __value(_IterOps<_AlgPolicy>::__iter_move(__at));
      for (_It __to = __at; __to != __first; --__to)
        *__to = _IterOps<_AlgPolicy>::__iter_move(__to - 1);
      *__first = std::move(__value);
    } else {
      std::__assay_insert<_AlgPolicy>(__at, __comp);
    }
  }
}

// The position of the median of three elements.
template <class _It, class _Compare>
_ASSAY_FUNCTION _It __assay_median(_It __a, _It __b, _It __c, _Compare& __comp) {
  if (__comp(*__a, *__b))
    return __comp(*__b, *__c) ? __b : __comp(*__a, *__c) ? __c : __a;
  return __comp(*__a, *__c) ? __a : __comp(*__b, *__c) ? __c : __b;
}

// Divides by a median, which moves to the front. Returns where the second part begins.
template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION _It __assay_divide(_It __first, _It __last, _Compare& __comp) {
  _It __middle = __first + (__last - __first) / 2;
  _IterOps<_AlgPolicy>::iter_swap(
      __first, std::__assay_median(__first + 1, __middle, __last - 1, __comp));
  for (_It __low = __first + 1, __high = __last;; ++__low) {
    while (__comp(*__low, *__first))
      ++__low;
    do
      --__high;
    while (__comp(*__first, *__high));
    if (!(__low < __high))
      return __low;
    _IterOps<_AlgPolicy>::iter_swap(__low, __high);
  }
}

template <class _Difference>
_ASSAY_FUNCTION _Difference __assay_depth(_Difference __size) {
  _Difference __depth = 0;
  for (; __size > 1; __size /= 2)
    __depth += 2;
  return __depth;
}

template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void
__assay_introsort(_It __first, _It __last, __assay_difference<_It> __depth, _Compare& __comp) {
  while (__last - __first > 16) {
    if (__depth-- == 0) {
      std::__make_heap<_AlgPolicy>(__first, __last, __comp);
      std::__sort_heap<_AlgPolicy>(__first, __last, __comp);
      return;
    }
    _It __cut = std::__assay_divide<_AlgPolicy>(__first, __last, __comp);
    std::__assay_introsort<_AlgPolicy>(__cut, __last, __depth, __comp);
    __last = __cut;
  }
}

template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __assay_sort(_It __first, _It __last, _Compare& __comp) {
  const __assay_difference<_It> __size = __last - __first;
  std::__assay_introsort<_AlgPolicy>(__first, __last, std::__assay_depth(__size), __comp);
  _It __sorted = __size > 16 ? __first + 16 : __last;
  std::__assay_insertion_sort<_AlgPolicy>(__first, __sorted, __comp);
  for (; __sorted != __last; ++__sorted)
    std::__assay_insert<_AlgPolicy>(__sorted, __comp);
}

template <class _AlgPolicy, class _Compare, class _It>
_ASSAY_FUNCTION void __nth_element(_It __first, _It __nth, _It __last, _Compare __comp) {
  __assay_difference<_It> __depth = std::__assay_depth(__last - __first);
  while (__last - __first > 3) {
    if (__depth-- == 0) {
      std::__assay_heap_select<_AlgPolicy>(__first, __nth + 1, __last, __comp);
      _IterOps<_AlgPolicy>::iter_swap(__first, __nth);
      return;
    }
    _It __cut = std::__assay_divide<_AlgPolicy>(__first, __last, __comp);
    if (__cut <= __nth)
      __first = __cut;
    else
      __last = __cut;
  }
  std::__assay_insertion_sort<_AlgPolicy>(__first, __last, __comp);
}

// Stable sorting.
template <class _AlgPolicy, class _From, class _To>
_ASSAY_FUNCTION _To __assay_move(_From __first, _From __last, _To __to) {
  for (; __first != __last; ++__first, (void)++__to)
    *__to = _IterOps<_AlgPolicy>::__iter_move(__first);
  return __to;
}

// Merges until one of the parts is empty.
template <class _AlgPolicy, class _One, class _Other, class _To, class _Compare>
_ASSAY_FUNCTION _To __assay_merge_some(
    _One& __one, _One __one_end, _Other& __other, _Other __other_end, _To __to, _Compare& __comp) {
  for (; __one != __one_end && __other != __other_end; ++__to) {
    if (__comp(*__other, *__one)) {
      *__to = _IterOps<_AlgPolicy>::__iter_move(__other);
      ++__other;
    } else {
      *__to = _IterOps<_AlgPolicy>::__iter_move(__one);
      ++__one;
    }
  }
  return __to;
}

template <class _AlgPolicy, class _From, class _To, class _Compare>
_ASSAY_FUNCTION _To
__assay_merge(_From __first, _From __middle, _From __last, _To __to, _Compare& __comp) {
  _From __other = __middle;
  __to          = std::__assay_merge_some<_AlgPolicy>(
      __first, __middle, __other, __last, __to, __comp);
  __to = std::__assay_move<_AlgPolicy>(__first, __middle, __to);
  return std::__assay_move<_AlgPolicy>(__other, __last, __to);
}

template <class _AlgPolicy, class _From, class _To, class _Compare, class _Difference>
_ASSAY_FUNCTION void __assay_merge_runs(
    _From __first, _From __last, _To __to, _Difference __run, _Compare& __comp) {
  for (; __last - __first >= 2 * __run; __first += 2 * __run)
    __to = std::__assay_merge<_AlgPolicy>(
        __first, __first + __run, __first + 2 * __run, __to, __comp);
  _From __middle = __last - __first > __run ? __first + __run : __last;
  std::__assay_merge<_AlgPolicy>(__first, __middle, __last, __to, __comp);
}

template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void
__assay_merge_sort(_It __first, _It __last, __assay_value<_It>* __buffer, _Compare& __comp) {
  const __assay_difference<_It> __size = __last - __first;
  __assay_difference<_It> __run        = 7;
  for (_It __at = __first;; __at += __run) {
    if (__last - __at < __run) {
      std::__assay_insertion_sort<_AlgPolicy>(__at, __last, __comp);
      break;
    }
    std::__assay_insertion_sort<_AlgPolicy>(__at, __at + __run, __comp);
  }
  for (; __run < __size; __run *= 4) {
    std::__assay_merge_runs<_AlgPolicy>(__first, __last, __buffer, __run, __comp);
    std::__assay_merge_runs<_AlgPolicy>(
        __buffer, __buffer + __size, __first, 2 * __run, __comp);
  }
}

// Merges two parts, from the end. The second one is in the buffer.
template <class _AlgPolicy, class _It, class _Compare>
_ASSAY_FUNCTION void __assay_merge_backward(
    _It __first, _It __middle, __assay_value<_It>* __other, __assay_value<_It>* __other_end,
    _It __to, _Compare& __comp) {
  while (__other != __other_end) {
    if (__first != __middle && __comp(*(__other_end - 1), *(__middle - 1)))
      *--__to = _IterOps<_AlgPolicy>::__iter_move(--__middle);
    else
      *--__to = std::move(*--__other_end);
  }
}

template <class _AlgPolicy, class _It, class _Compare>
_LIBCPP_HIDE_FROM_ABI void __assay_stable_sort(_It __first, _It __last, _Compare& __comp) {
  using _Value = __assay_value<_It>;
  if (__last - __first < 2)
    return;
  const ptrdiff_t __half = (__last - __first + 1) / 2;
  auto __memory          = std::__allocate_unique_temporary_buffer<_Value>(__half);
  _Value* __buffer       = __memory.get();
  // All elements of the buffer are constructed from the first one, which passes through them.
  std::__construct_at(__buffer, _IterOps<_AlgPolicy>::__iter_move(__first));
  for (ptrdiff_t __at = 1; __at < __half; ++__at)
    std::__construct_at(__buffer + __at, std::move(__buffer[__at - 1]));
  *__first = std::move(__buffer[__half - 1]);
  struct __destroyer {
    _Value* __list;
    ptrdiff_t __size;
    _LIBCPP_HIDE_FROM_ABI ~__destroyer() {
      for (ptrdiff_t __at = 0; __at < __size; ++__at)
        __list[__at].~_Value();
    }
  } __guard = {__buffer, __half};
  _It __middle  = __first + __half;
  std::__assay_merge_sort<_AlgPolicy>(__first, __middle, __buffer, __comp);
  std::__assay_merge_sort<_AlgPolicy>(__middle, __last, __buffer, __comp);
  if (__half <= __last - __middle) {
    _Value* __end = std::__assay_move<_AlgPolicy>(__first, __middle, __buffer);
    __first =
        std::__assay_merge_some<_AlgPolicy>(__buffer, __end, __middle, __last, __first, __comp);
    std::__assay_move<_AlgPolicy>(__buffer, __end, __first);
  } else {
    _Value* __end = std::__assay_move<_AlgPolicy>(__middle, __last, __buffer);
    std::__assay_merge_backward<_AlgPolicy>(
        __first, __middle, __buffer, __end, __last, __comp);
  }
}

_LIBCPP_END_NAMESPACE_STD

#undef _ASSAY_FUNCTION

_LIBCPP_POP_MACROS

#endif
