"""Checked changes of libc++'s algorithms, which then order equal elements as those of GCC's library
do. `c/order.h` defines functions that replace libc++'s, which get another name.
"""

from downloads import Substitution

FOLDER = "libcxx/include/__algorithm"

# The file, and how the definition of the function continues after its name.
REPLACED = (
    ("make_heap", "__make_heap", "(_RandomAccessIterator __first, _RandomAccessIterator __last, "),
    ("push_heap", "__push_heap", "(_RandomAccessIterator __first, _RandomAccessIterator __last, "),
    ("pop_heap", "__pop_heap", "(_RandomAccessIterator __first,\n"),
    ("sort_heap", "__sort_heap", "(_RandomAccessIterator __first, _RandomAccessIterator __last, "),
    ("partial_sort", "__partial_sort_impl", "(\n    _RandomAccessIterator __first, "),
    ("nth_element", "__nth_element", "(\n"),
)

INCLUDE = "#include <__algorithm/comp_ref_type.h>\n"


def replaced(file, name, rest):
    path = f"{FOLDER}/{file}.h"
    return Substitution(path, "replaced by `c/order.h`", f"{name}{rest}", f"{name}_of_llvm{rest}")


def includes(file):
    include = f"{INCLUDE}#include <__algorithm/assay_order.h>\n"
    return Substitution(f"{FOLDER}/{file}.h", "`c/order.h`", INCLUDE, include)


FILES = [file for file, name, rest in REPLACED] + ["sort", "stable_sort", "partial_sort_copy"]

SUBSTITUTIONS = (
    *(includes(file) for file in FILES),
    *(replaced(*each) for each in REPLACED),
    Substitution(
        f"{FOLDER}/sort.h",
        "only numbers are sorted as before: equal ones cannot be distinguished",
        "  typedef typename iterator_traits<_RandomAccessIterator>::difference_type "
        "difference_type;\n"
        "  difference_type __depth_limit = ",
        "  if _LIBCPP_CONSTEXPR (!__use_branchless_sort<_Comp, _RandomAccessIterator>) {\n"
        "    std::__assay_sort<_AlgPolicy>(__first, __last, __comp);\n"
        "    return;\n"
        "  }\n"
        "  typedef typename iterator_traits<_RandomAccessIterator>::difference_type "
        "difference_type;\n"
        "  difference_type __depth_limit = ",
    ),
    Substitution(
        f"{FOLDER}/sort.h",
        "the same",
        "__use_branchless_sort<_Comp, _RandomAccessIterator> >(\n"
        "      __first, __last, __comp, __depth_limit);\n",
        "true>(\n      __first, __last, __comp, __depth_limit);\n",
    ),
    Substitution(
        f"{FOLDER}/stable_sort.h",
        "only numbers are sorted as before",
        "  difference_type __len = __last - __first;\n"
        "  __unique_temporary_buffer<value_type> __unique_buf;\n",
        "  if _LIBCPP_CONSTEXPR (!__use_branchless_sort<_Compare, _RandomAccessIterator>) {\n"
        "    std::__assay_stable_sort<_AlgPolicy>(__first, __last, __comp);\n"
        "    return;\n"
        "  }\n"
        "  difference_type __len = __last - __first;\n"
        "  __unique_temporary_buffer<value_type> __unique_buf;\n",
    ),
    Substitution(
        f"{FOLDER}/partial_sort.h",
        "elements are compared even if none is sorted",
        "  if (__first == __middle)\n    return _IterOps<_AlgPolicy>::next(__middle, __last);\n",
        "",
    ),
    Substitution(
        f"{FOLDER}/partial_sort_copy.h",
        "replaced by `c/order.h`",
        "        *__result_first = *__first;\n"
        "        std::__sift_down<_AlgPolicy, false>(__result_first, __projected_comp, __len, 0);"
        "\n",
        "        typename iterator_traits<_RandomAccessIterator>::value_type __value(*__first);\n"
        "        std::__assay_sink<_AlgPolicy>(__result_first, decltype(__len)(0), __len, __value, "
        "__projected_comp);\n",
    ),
)
