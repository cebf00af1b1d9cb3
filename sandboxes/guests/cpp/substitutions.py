"""Checked changes of the C and C++ libraries: 64-bit pointers, `long` and `size_t`, as on 64-bit
Linux, above calls of the host that have 32-bit ones.
"""

import distributions
import errors
import formats
import glibc
import order
import streams
import values
from downloads import Substitution

# Headers whose assertions describe structures with 32-bit pointers. `c/wasi.c` converts them.
WITHOUT_ASSERTIONS = ("include/wasi/api.h",)

TYPES = "include/bits/alltypes.h"

COUNT_BITS = (
    "  [[__nodiscard__]] _LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX23 "
    "size_t count() const _NOEXCEPT;\n"
)

SUBSTITUTIONS = (
    Substitution(
        "libc/src/stdio/vfprintf.c",
        "numbers below the smallest normal one begin with 0, as in glibc",
        "\tif ((t|32)=='a') {\n",
        "\tif ((t|32)=='a') {\n"
        "\t\tfor (; y && e2<-1022; e2++) y /= 2;\n",
    ),
    Substitution(
        "libc/src/stdio/stdout.c",
        "the buffer is not flushed at the first line, as in glibc unless it is a terminal",
        "\t.lbf = '\\n',\n",
        "\t.lbf = -1,\n",
    ),
    Substitution(
        "libc/src/exit/exit.c",
        "thread-local objects are destroyed before static ones",
        "void __wasm_call_dtors(void)\n{\n\t__funcs_on_exit();\n",
        "void assay_destroy_thread_locals(void);\n\n"
        "void __wasm_call_dtors(void)\n{\n\tassay_destroy_thread_locals();\n"
        "\t__funcs_on_exit();\n",
    ),
    Substitution(
        "include/wasi/api.h",
        "`c/wasi.c` converts what differs",
        "#ifndef __wasm32__\n#error",
        "#ifndef __wasm__\n#error",
    ),
    Substitution(TYPES, "`int64_t` is `long`, as on Linux", "_Int64 long long\n", "_Int64 long\n"),
    Substitution(TYPES, "as on Linux", "_Reg long long\n", "_Reg long\n"),
    Substitution("include/__typedef_*_t.h", "as on Linux", "long long", "long", 8),
    Substitution(
        "libc/arch/wasm/atomic_arch.h",
        "the default is for 32-bit pointers",
        "#define a_crash()",
        "#define a_cas_p(p, t, s) "
        "((void *)__sync_val_compare_and_swap((long *)(p), (long)(t), (long)(s)))\n"
        "#define a_crash()",
    ),
    Substitution(
        "include/bits/stdint.h",
        "as on Linux",
        "typedef int16_t int_fast16_t;\n"
        "typedef int32_t int_fast32_t;\n"
        "typedef uint16_t uint_fast16_t;\n"
        "typedef uint32_t uint_fast32_t;\n",
        "typedef int64_t int_fast16_t;\n"
        "typedef int64_t int_fast32_t;\n"
        "typedef uint64_t uint_fast16_t;\n"
        "typedef uint64_t uint_fast32_t;\n",
    ),
    Substitution(
        "include/bits/stdint.h",
        "as on Linux",
        "#define INT_FAST16_MIN  INT16_MIN\n"
        "#define INT_FAST32_MIN  INT32_MIN\n"
        "\n"
        "#define INT_FAST16_MAX  INT16_MAX\n"
        "#define INT_FAST32_MAX  INT32_MAX\n"
        "\n"
        "#define UINT_FAST16_MAX UINT16_MAX\n"
        "#define UINT_FAST32_MAX UINT32_MAX\n",
        "#define INT_FAST16_MIN  INT64_MIN\n"
        "#define INT_FAST32_MIN  INT64_MIN\n"
        "\n"
        "#define INT_FAST16_MAX  INT64_MAX\n"
        "#define INT_FAST32_MAX  INT64_MAX\n"
        "\n"
        "#define UINT_FAST16_MAX UINT64_MAX\n"
        "#define UINT_FAST32_MAX UINT64_MAX\n",
    ),
    Substitution(
        "include/bits/stdint.h",
        "64-bit pointers",
        "#define INTPTR_MIN      INT32_MIN\n"
        "#define INTPTR_MAX      INT32_MAX\n"
        "#define UINTPTR_MAX     UINT32_MAX\n"
        "#define PTRDIFF_MIN     INT32_MIN\n"
        "#define PTRDIFF_MAX     INT32_MAX\n"
        "#define SIZE_MAX        UINT32_MAX\n",
        "#define INTPTR_MIN      INT64_MIN\n"
        "#define INTPTR_MAX      INT64_MAX\n"
        "#define UINTPTR_MAX     UINT64_MAX\n"
        "#define PTRDIFF_MIN     INT64_MIN\n"
        "#define PTRDIFF_MAX     INT64_MAX\n"
        "#define SIZE_MAX        UINT64_MAX\n",
    ),
    Substitution(
        "libcxx/include/__configuration/*.h",
        "the configuration is a file here",
        "/* zig patch: instead of including __config_site, zig adds -D flags when compiling */",
        "#include <__config_site>",
        6,
    ),
    Substitution(
        "libcxx/include/__config",
        "the configuration is a file here",
        "/* zig patch: instead of including __config_site, zig adds -D flags when compiling */",
        "#include <__config_site>",
    ),
    Substitution(
        "libcxx/include/__configuration/experimental.h",
        "execution policies are part of GCC's library",
        "#define _LIBCPP_HAS_EXPERIMENTAL_PSTL _LIBCPP_HAS_EXPERIMENTAL_LIBRARY",
        "#define _LIBCPP_HAS_EXPERIMENTAL_PSTL 1",
    ),
    Substitution(
        "libcxx/src/filesystem/operations.cpp",
        "WASI has no `copy_file_range`",
        "#if _LIBCPP_GLIBC_PREREQ(2, 27) || _LIBCPP_HAS_MUSL_LIBC ||",
        "#if _LIBCPP_GLIBC_PREREQ(2, 27) ||",
    ),
    Substitution(
        "libcxx/src/filesystem/operations.cpp",
        "the header exists, and the function does not",
        "#if __has_include(<sys/sendfile.h>)",
        "#if 0",
    ),
    Substitution(
        "zig/compiler_rt/comparef.zig",
        "the compiler expects `int`",
        "else if (builtin.cpu.arch.isAARCH64())",
        "else if (builtin.cpu.arch.isAARCH64() or builtin.cpu.arch.isWasm())",
    ),
    Substitution(
        "libcxx/include/bitset",
        "extensions of GCC",
        COUNT_BITS,
        "  [[__nodiscard__]] _LIBCPP_HIDE_FROM_ABI size_t _Find_first() const _NOEXCEPT {\n"
        "    return _Find_next(size_t(-1));\n"
        "  }\n"
        "  [[__nodiscard__]] _LIBCPP_HIDE_FROM_ABI "
        "size_t _Find_next(size_t __p) const _NOEXCEPT {\n"
        "    const size_t* __words = reinterpret_cast<const size_t*>(this);\n"
        "    if (++__p >= _Size)\n"
        "      return _Size;\n"
        "    size_t __at = __p / 64;\n"
        "    size_t __word = __words[__at] & (~size_t(0) << __p % 64);\n"
        "    while (!__word && ++__at * 64 < _Size)\n"
        "      __word = __words[__at];\n"
        "    size_t __found = __word ? __at * 64 + __builtin_ctzl(__word) : _Size;\n"
        "    return __found < _Size ? __found : _Size;\n"
        "  }\n" + COUNT_BITS,
    ),
) + (
    distributions.SUBSTITUTIONS
    + errors.SUBSTITUTIONS
    + formats.SUBSTITUTIONS
    + glibc.SUBSTITUTIONS
    + order.SUBSTITUTIONS
    + streams.SUBSTITUTIONS
    + values.SUBSTITUTIONS
)
