"""Checked changes of libc++ after which programs print what they print with GCC's library: random
numbers, the order of unordered containers, and texts of exceptions.
"""

from downloads import Substitution

TABLE = "libcxx/include/__hash_table"
VECTOR = "libcxx/include/__vector/vector.h"
STRING = "libcxx/include/string"
MEMORY = "libcxx/include/__memory/uninitialized_algorithms.h"
SHUFFLE = "libcxx/include/__algorithm/shuffle.h"
UNIFORM = "libcxx/include/__random/uniform_int_distribution.h"
NORMAL = "libcxx/include/__random/normal_distribution.h"

CHECK = "std::__assay_out_of_range("


def text(path, old, new, times=1):
    return Substitution(path, "the text of GCC's library", old, new, times)


POSITION = " (which is %zu) > this->size() (which is %zu)"


def position(name, head, condition, at, size):
    """A member function of strings with a position that is too large."""
    check = "    this->__throw_out_of_range();\n"
    return text(
        STRING,
        f"{head}{condition}{check}",
        f'{head}{condition}    {CHECK}"basic_string::{name}: __pos{POSITION}", {at}, {size});\n',
    )


def checked(name, parameters, of=""):
    head = f"::{name}({parameters}) {{\n  size_type __sz = {of}size();\n"
    return position(name, head, "  if (__pos > __sz)\n", "__pos", "__sz")


THROW = "this->__throw_length_error();\n"


def too_long(path, head, message):
    return text(path, f"{head}{THROW}", f'{head}std::__throw_length_error("{message}");\n')


POSITIONS = (
    too_long(
        VECTOR,
        "__vallocate(size_type __n) {\n    if (__n > max_size())\n      ",
        "cannot create std::vector larger than max_size()",
    ),
    too_long(VECTOR, "  if (__new_size > __ms)\n    ", "vector::_M_default_append"),
    too_long(
        VECTOR, "  if (__n > capacity()) {\n    if (__n > max_size())\n      ", "vector::reserve"
    ),
    text(
        STRING,
        'std::__throw_length_error("basic_string")',
        'std::__throw_length_error("basic_string::_M_create")',
    ),
    text(
        "libcxx/include/string_view",
        '(__throw_out_of_range("string_view::at")',
        f'({CHECK}"basic_string_view::at: __pos (which is %zu) >= this->size() (which is %zu)", '
        "__pos, size())",
    ),
    text(
        "libcxx/include/string_view",
        '(__throw_out_of_range("string_view::substr")',
        f'({CHECK}"basic_string_view::substr: __pos (which is %zu) > __size (which is %zu)", '
        "__pos, size())",
    ),
    text(
        "libcxx/include/bitset",
        '"bitset string ctor has invalid argument"',
        '"bitset::_M_copy_from_ptr"',
    ),
    checked("assign", "const basic_string& __str, size_type __pos, size_type __n", of="__str."),
    checked("append", "const basic_string& __str, size_type __pos, size_type __n", of="__str."),
    position(
        "replace",
        '"string::insert received nullptr");\n  size_type __sz = size();\n',
        "  if (__pos > __sz)\n",
        "__pos",
        "__sz",
    ),
    checked("insert", "size_type __pos, size_type __n, value_type __c"),
    checked("replace", "size_type __pos, size_type __n1, size_type __n2, value_type __c"),
    position(
        "erase",
        "::erase(size_type __pos, size_type __n) {\n",
        "  if (__pos > size())\n",
        "__pos",
        "size()",
    ),
    position(
        "replace",
        '"string::replace received nullptr");\n  size_type __sz = size();\n',
        "  if (__pos > __sz)\n",
        "__pos",
        "__sz",
    ),
    position(
        "compare",
        '"string::compare(): received nullptr");\n  size_type __sz = size();\n',
        "  if (__pos1 > __sz || __n2 == npos)\n",
        "__pos1",
        "__sz",
    ),
)

EXCEPTIONS = (
    Substitution(
        "libcxx/include/stdexcept",
        "declares the function",
        "[[__noreturn__]] inline _LIBCPP_HIDE_FROM_ABI void __throw_out_of_range(",
        "[[__noreturn__]] void __assay_out_of_range(const char*, unsigned long, unsigned long);\n\n"
        "[[__noreturn__]] inline _LIBCPP_HIDE_FROM_ABI void __throw_out_of_range(",
    ),
    text(
        VECTOR,
        "    if (__n >= size())\n      this->__throw_out_of_range();\n",
        f"    if (__n >= size())\n      {CHECK}\"vector::_M_range_check: __n (which is %zu) >= "
        'this->size() (which is %zu)", __n, size());\n',
        2,
    ),
    text(
        "libcxx/include/deque",
        '    std::__throw_out_of_range("deque");\n',
        f'    {CHECK}"deque::_M_range_check: __n (which is %zu)>= this->size() (which is %zu)", '
        "__i, size());\n",
        2,
    ),
    text(
        "libcxx/include/array",
        "    if (__n >= _Size)\n      std::__throw_out_of_range(\"array::at\");\n",
        f"    if (__n >= _Size)\n      {CHECK}\"array::at: __n (which is %zu) >= _Nm (which is "
        '%zu)", __n, _Size);\n',
        2,
    ),
    text(
        STRING,
        "  if (__n >= size())\n    this->__throw_out_of_range();\n",
        f"  if (__n >= size())\n    {CHECK}\"basic_string::at: __n (which is %zu) >= "
        'this->size() (which is %zu)", __n, size());\n',
        2,
    ),
    text(
        STRING,
        "    return basic_string(*this, __pos, __n);\n",
        f"    if (__pos > size())\n      {CHECK}\"basic_string::substr: __pos (which is %zu) > "
        'this->size() (which is %zu)", __pos, size());\n'
        "    return basic_string(*this, __pos, __n);\n",
        2,
    ),
    text("libcxx/include/map", '"map::at:  key not found"', '"map::at"', 4),
    text(
        "libcxx/include/unordered_map",
        '"unordered_map::at: key not found"',
        '"unordered_map::at"',
        2,
    ),
    *(
        text(
            "libcxx/include/bitset",
            f'    std::__throw_out_of_range("bitset {name} argument out of range");\n',
            f'    {CHECK}"bitset::{name}: __position (which is %zu) >= _Nb (which is %zu)", __pos, '
            "_Size);\n",
        )
        for name in ("set", "reset", "flip", "test")
    ),
    text("libcxx/src/ios.cpp", '"ios_base::clear"', '"basic_ios::clear"'),
    text("libcxx/src/ios.cpp", '"unspecified iostream_category error"', '"iostream error"'),
    text("libcxx/src/string.cpp", 'func + ": no conversion"', "func"),
    text("libcxx/src/string.cpp", 'func + ": out of range"', "func"),
    text("libcxx/src/any.cpp", '"bad any cast"', '"bad any_cast"', 2),
    text("libcxx/src/variant.cpp", '"bad_variant_access"', '"std::get: wrong index for variant"'),
    text("libcxx/src/optional.cpp", '"bad_optional_access"', '"bad optional access"'),
    text("libcxx/src/functional.cpp", '"std::bad_function_call"', '"bad_function_call"'),
)

RANDOM = (
    Substitution(
        UNIFORM,
        "includes the own distribution",
        "#include <__config>\n",
        "#include <__config>\n#include <__random/assay_uniform.h>\n",
    ),
    Substitution(
        UNIFORM,
        "the values of GCC's library",
        "  typedef __conditional_t<sizeof(result_type) <= sizeof(uint32_t), uint32_t, "
        "__make_unsigned_t<result_type> > _UIntType;\n",
        "  return std::__assay_uniform_int<result_type>(__g, __p.a(), __p.b());\n"
        "#if 0\n"
        "  typedef __conditional_t<sizeof(result_type) <= sizeof(uint32_t), uint32_t, "
        "__make_unsigned_t<result_type> > _UIntType;\n",
    ),
    Substitution(
        UNIFORM,
        "the end of the code that is replaced above",
        "  return static_cast<result_type>(__u + __p.a());\n",
        "  return static_cast<result_type>(__u + __p.a());\n#endif\n",
    ),
    Substitution(
        SHUFFLE,
        "includes the own functions",
        "#include <__config>\n",
        "#include <__config>\n#include <__random/assay_uniform.h>\n#include <cstdlib>\n",
    ),
    Substitution(
        SHUFFLE,
        "the order of GCC's library",
        "  auto __last          = __original_last;\n",
        "  std::__assay_shuffle<_IterOps<_AlgPolicy> >(__first, __original_last, __g);\n"
        "  return __original_last;\n"
        "#if 0\n"
        "  auto __last          = __original_last;\n",
    ),
    Substitution(
        SHUFFLE,
        "the end of the code that is replaced above",
        "  return __original_last;\n}\n",
        "  return __original_last;\n#endif\n}\n",
    ),
    Substitution(
        SHUFFLE,
        "the values of GCC's library",
        "  typedef uniform_int_distribution<ptrdiff_t> _Dp;\n"
        "  typedef typename _Dp::param_type _Pp;\n"
        "  difference_type __d = __last - __first;\n",
        "  for (difference_type __at = 1; __at < __last - __first; ++__at)\n"
        "    swap(__first[__at], __first[std::rand() % (__at + 1)]);\n"
        "  return;\n"
        "  typedef uniform_int_distribution<ptrdiff_t> _Dp;\n"
        "  typedef typename _Dp::param_type _Pp;\n"
        "  difference_type __d = __last - __first;\n",
    ),
    Substitution(
        SHUFFLE,
        "the order of GCC's library",
        "  difference_type __d = __last - __first;\n"
        "  if (__d > 1) {\n"
        "    for (--__last; ",
        "  for (difference_type __at = 1; __at < __last - __first; ++__at)\n"
        "    swap(__first[__at], __first[__rand(__at + 1)]);\n"
        "  return;\n"
        "  difference_type __d = __last - __first;\n"
        "  if (__d > 1) {\n"
        "    for (--__last; ",
    ),
    Substitution(
        NORMAL,
        "GCC's library keeps the other of the two numbers",
        "    __v_             = __v * __fp;\n",
        "    __v_             = __u * __fp;\n",
    ),
    Substitution(
        NORMAL,
        "GCC's library keeps the other of the two numbers",
        "    __up             = __u * __fp;\n",
        "    __up             = __v * __fp;\n",
    ),
    Substitution(
        "libcxx/include/__random/default_random_engine.h",
        "the engine of GCC's library",
        "typedef minstd_rand default_random_engine;",
        "typedef minstd_rand0 default_random_engine;",
    ),
)

GROWTH = "the sizes of GCC's library"
BUCKETS = "size_type(float(std::max<size_type>(size() + 1, __bc ? 0 : 11)) / max_load_factor()) + 1"

CONTAINERS = (
    Substitution(
        TABLE,
        GROWTH,
        "        2 * __bc + !std::__is_hash_power2(__bc), "
        "size_type(__math::ceil(float(size() + 1) / max_load_factor()))));\n",
        f"        2 * __bc, {BUCKETS}));\n",
        3,
    ),
    Substitution(
        TABLE,
        GROWTH,
        "__rehash_unique(std::max<size_type>(2 * __bc + !std::__is_hash_power2(__bc),\n"
        "                                                  "
        "size_type(__math::ceil(float(size() + 1) / max_load_factor()))));\n",
        f"__rehash_unique(std::max<size_type>(2 * __bc, {BUCKETS}));\n",
    ),
    Substitution(
        TABLE,
        GROWTH,
        "  if (__n == 1)\n    __n = 2;\n  else if (__n & (__n - 1))\n"
        "    __n = std::__next_prime(__n);\n",
        "  if (__n > 1)\n    __n = std::__next_prime(__n);\n",
    ),
    Substitution(
        TABLE,
        "the order of GCC's library: nodes are moved one by one, as if inserted again",
        "  size_type __chash       = std::__constrain_hash(__cp->__hash(), __bucket_count);\n"
        "  __bucket_list_[__chash] = __pp;\n"
        "  size_type __phash       = __chash;\n",
        "  if _LIBCPP_CONSTEXPR (_UniqueKeys) {\n"
        "    size_type __front = 0;\n"
        "    __pp->__next_     = nullptr;\n"
        "    while (__cp) {\n"
        "      __next_pointer __rest = __cp->__next_;\n"
        "      size_type __at        = std::__constrain_hash(__cp->__hash(), __bucket_count);\n"
        "      bool __used           = __bucket_list_[__at] != nullptr;\n"
        "      if (!__used)\n"
        "        __bucket_list_[__at] = __pp;\n"
        "      __cp->__next_                  = __bucket_list_[__at]->__next_;\n"
        "      __bucket_list_[__at]->__next_ = __cp;\n"
        "      if (!__used && __cp->__next_)\n"
        "        __bucket_list_[__front] = __cp;\n"
        "      if (!__used)\n"
        "        __front = __at;\n"
        "      __cp = __rest;\n"
        "    }\n"
        "    return;\n"
        "  }\n"
        "  size_type __chash       = std::__constrain_hash(__cp->__hash(), __bucket_count);\n"
        "  __bucket_list_[__chash] = __pp;\n"
        "  size_type __phash       = __chash;\n",
    ),
    Substitution(
        TABLE,
        "the same for containers with equal keys, which stay together",
        "  size_type __chash       = std::__constrain_hash(__cp->__hash(), __bucket_count);\n"
        "  __bucket_list_[__chash] = __pp;\n"
        "  size_type __phash       = __chash;\n",
        "  size_type __front       = 0;\n"
        "  size_type __last_bucket = 0;\n"
        "  __next_pointer __last   = nullptr;\n"
        "  bool __grew             = false;\n"
        "  __pp->__next_           = nullptr;\n"
        "  auto __finish           = [&] {\n"
        "    if (!__grew || !__last->__next_)\n"
        "      return;\n"
        "    size_type __at = std::__constrain_hash(__last->__next_->__hash(), __bucket_count);\n"
        "    if (__at != __last_bucket)\n"
        "      __bucket_list_[__at] = __last;\n"
        "  };\n"
        "  while (__cp) {\n"
        "    __next_pointer __rest = __cp->__next_;\n"
        "    size_type __at        = std::__constrain_hash(__cp->__hash(), __bucket_count);\n"
        "    if (__last && __last_bucket == __at) {\n"
        "      __cp->__next_   = __last->__next_;\n"
        "      __last->__next_ = __cp;\n"
        "      __grew          = true;\n"
        "    } else {\n"
        "      __finish();\n"
        "      __grew       = false;\n"
        "      bool __used  = __bucket_list_[__at] != nullptr;\n"
        "      if (!__used)\n"
        "        __bucket_list_[__at] = __pp;\n"
        "      __cp->__next_                 = __bucket_list_[__at]->__next_;\n"
        "      __bucket_list_[__at]->__next_ = __cp;\n"
        "      if (!__used && __cp->__next_)\n"
        "        __bucket_list_[__front] = __cp;\n"
        "      if (!__used)\n"
        "        __front = __at;\n"
        "    }\n"
        "    __last        = __cp;\n"
        "    __last_bucket = __at;\n"
        "    __cp          = __rest;\n"
        "  }\n"
        "  __finish();\n"
        "  return;\n"
        "#if 0\n"
        "  size_type __chash       = std::__constrain_hash(__cp->__hash(), __bucket_count);\n"
        "  __bucket_list_[__chash] = __pp;\n"
        "  size_type __phash       = __chash;\n",
    ),
    Substitution(
        TABLE,
        "the end of the code that is replaced above",
        "        __bucket_list_[__chash]->__next_ = __cp;\n      }\n    }\n  }\n}\n",
        "        __bucket_list_[__chash]->__next_ = __cp;\n      }\n    }\n  }\n#endif\n}\n",
    ),
    Substitution(
        TABLE,
        "a new element precedes those with an equal key, or begins its bucket",
        "      if (__found !=\n"
        "          (__pn->__next_->__hash() == __cp_hash && "
        "key_eq()(__pn->__next_->__upcast()->__get_value(), __cp_val))) {\n"
        "        if (!__found)\n"
        "          __found = true;\n"
        "        else\n"
        "          break;\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "  return __pn;\n",
        "      if (__pn->__next_->__hash() == __cp_hash && "
        "key_eq()(__pn->__next_->__upcast()->__get_value(), __cp_val))\n"
        "        return __assay_is_string<key_type>::value && size() <= 20 ? __pn->__next_ : "
        "__pn;\n"
        "    }\n"
        "  }\n"
        "  return __bucket_list_[__chash];\n",
    ),
    Substitution(
        TABLE,
        "in small containers of strings it follows the first of them",
        "template <class _Tp, class _Hash, class _Equal, class _Alloc>\nclass __hash_table;\n",
        "template <class _Tp>\nstruct __assay_is_string : false_type {};\n"
        "template <class _Char, class _Traits, class _Alloc>\n"
        "struct __assay_is_string<basic_string<_Char, _Traits, _Alloc> > : true_type {};\n\n"
        "template <class _Tp, class _Hash, class _Equal, class _Alloc>\nclass __hash_table;\n",
    ),
    Substitution(
        TABLE,
        "declares strings",
        "#include <__config>\n",
        "#include <__config>\n#include <__fwd/string.h>\n",
    ),
    Substitution(
        "libcxx/src/functional.cpp",
        "`c/hash.cpp` defines it",
        "size_t __hash_memory(_LIBCPP_NOESCAPE const void* ptr, size_t size) noexcept {\n"
        "  return __murmur2_or_cityhash<size_t>()(ptr, size);\n}\n",
        "",
    ),
    Substitution(
        "libcxx/include/__functional/hash.h",
        "the hashes of GCC's library: pointers are their own, and numbers are hashed as bytes",
        "  _LIBCPP_HIDE_FROM_ABI size_t operator()(_Tp* __v) const _NOEXCEPT {\n",
        "  _LIBCPP_HIDE_FROM_ABI size_t operator()(_Tp* __v) const _NOEXCEPT {\n"
        "    return reinterpret_cast<size_t>(__v);\n",
    ),
    Substitution(
        "libcxx/include/__functional/hash.h",
        "the hashes of GCC's library: pointers are their own, and numbers are hashed as bytes",
        "    if (__v == 0.0f)\n      return 0;\n",
        "    if (__v == 0.0f)\n      return 0;\n"
        "    return std::__hash_memory(std::addressof(__v), sizeof __v);\n",
    ),
)

DESTRUCTION = (
    Substitution(
        VECTOR,
        "elements are destroyed from the first to the last",
        "    pointer __soon_to_be_end = this->__end_;\n"
        "    while (__new_last != __soon_to_be_end)\n"
        "      __alloc_traits::destroy(this->__alloc_, std::__to_address(--__soon_to_be_end));\n"
        "    this->__end_ = __new_last;\n",
        "    for (pointer __at = __new_last; __at != this->__end_; ++__at)\n"
        "      __alloc_traits::destroy(this->__alloc_, std::__to_address(__at));\n"
        "    this->__end_ = __new_last;\n",
    ),
    Substitution(
        MEMORY,
        "elements are moved and destroyed one by one",
        "    auto __destruct_first = __result;\n",
        "    if _LIBCPP_CONSTEXPR (is_nothrow_move_constructible<_ValueType>::value) {\n"
        "      for (; __first != __last; ++__first, (void)++__result) {\n"
        "        allocator_traits<_Alloc>::construct(__alloc, std::__to_address(__result), "
        "std::move(*__first));\n"
        "        allocator_traits<_Alloc>::destroy(__alloc, std::__to_address(__first));\n"
        "      }\n"
        "      return;\n"
        "    }\n"
        "    auto __destruct_first = __result;\n",
    ),
    Substitution(
        "libcxx/include/__tree",
        "elements are destroyed in descending order of roots: right parts before left ones",
        "      (*this)(static_cast<__node_pointer>(__ptr->__left_));\n\n"
        "      auto __right = __ptr->__right_;\n",
        "      (*this)(static_cast<__node_pointer>(__ptr->__right_));\n\n"
        "      auto __left = __ptr->__left_;\n",
    ),
    Substitution(
        "libcxx/include/__tree",
        "elements are destroyed in descending order of roots: right parts before left ones",
        "      (*this)(static_cast<__node_pointer>(__right));\n",
        "      (*this)(static_cast<__node_pointer>(__left));\n",
    ),
)

DIFFERENCE = (
    "__builtin_elementwise_max(__builtin_elementwise_min({}, "
    "ptrdiff_t(2147483647)), ptrdiff_t(-2147483648))"
)

STRINGS = (
    Substitution(
        STRING,
        "the capacity is doubled at least",
        "  __long __buffer  = __allocate_long_buffer(__alloc_, __requested_capacity);\n"
        "  __buffer.__size_ = size();\n"
        "  traits_type::copy(std::__to_address(__buffer.__data_), data(), __buffer.__size_ + 1);\n",
        "  __long __buffer  = __allocate_long_buffer(\n"
        "      __alloc_, __get_amortized_growth_capacity(__requested_capacity));\n"
        "  __buffer.__size_ = size();\n"
        "  traits_type::copy(std::__to_address(__buffer.__data_), data(), __buffer.__size_ + 1);\n",
    ),
    Substitution(
        VECTOR,
        "as in GCC's library",
        "std::min<size_type>(__alloc_traits::max_size(this->__alloc_), "
        "numeric_limits<difference_type>::max());\n",
        "std::min<size_type>(__alloc_traits::max_size(this->__alloc_), "
        "numeric_limits<difference_type>::max() / sizeof(value_type));\n",
    ),
    Substitution(
        STRING,
        "as in GCC's library",
        "    if (size_type __m = __alloc_traits::max_size(__alloc_); __m <= ",
        "    return (size_type(PTRDIFF_MAX) / sizeof(value_type) - 1) / 2;\n"
        "    if (size_type __m = __alloc_traits::max_size(__alloc_); __m <= ",
    ),
    Substitution(
        STRING,
        "the difference of sizes is returned",
        "    if (__lhs_sz < __rhs_sz)\n      return -1;\n"
        "    if (__lhs_sz > __rhs_sz)\n      return 1;\n    return 0;\n",
        f"    return int({DIFFERENCE.format('ptrdiff_t(__lhs_sz - __rhs_sz)')});\n",
    ),
    Substitution(
        STRING,
        "the difference of sizes is returned",
        "    if (__rlen < __n2)\n      __r = -1;\n    else if (__rlen > __n2)\n      __r = 1;\n",
        f"    __r = int({DIFFERENCE.format('ptrdiff_t(__rlen - __n2)')});\n",
    ),
    Substitution(
        STRING,
        "the capacities of GCC's library",
        "  static const size_type __endian_factor = 2;\n#    endif\n\n  // Attribute",
        "  static const size_type __endian_factor = 1;\n#    endif\n\n  // Attribute",
    ),
    Substitution(
        STRING,
        "15 bytes fit into a string object, which has 32",
        "    size_type __size_;\n    pointer __data_;\n  };\n\n"
        "  enum { __min_cap = (sizeof(__long) - 1) / sizeof(value_type) > 2 ? "
        "(sizeof(__long) - 1) / sizeof(value_type) : 2 };\n",
        "    size_type __size_;\n    pointer __data_;\n    size_type __unused_;\n  };\n\n"
        "  enum { __min_cap = 16 / sizeof(value_type) };\n",
    ),
    Substitution(
        STRING,
        "15 bytes fit into a string object, which has 32",
        "  static_assert(sizeof(__short) == (sizeof(value_type) * (__min_cap + 1)), "
        '"__short has an unexpected size.");\n',
        "",
    ),
    Substitution(
        STRING,
        "15 bytes fit into a string object, which has 32",
        "    size_type __guess          = __align_it<__boundary>(__size + 1);\n"
        "    if (__guess == __min_cap + 1)\n      __guess += __endian_factor;\n",
        "    size_type __guess          = __size + 1;\n",
    ),
)

SUBSTITUTIONS = EXCEPTIONS + POSITIONS + RANDOM + CONTAINERS + DESTRUCTION + STRINGS
