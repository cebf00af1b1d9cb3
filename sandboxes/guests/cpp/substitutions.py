"""Checked changes of the C and C++ libraries: 64-bit pointers, `long` and `size_t`, as on 64-bit
Linux, above calls of the host that have 32-bit ones.
"""

from downloads import Substitution

# Headers whose assertions describe structures with 32-bit pointers. `c/wasi.c` converts them.
WITHOUT_ASSERTIONS = ("include/wasi/api.h",)

TYPES = "include/bits/alltypes.h"

SUBSTITUTIONS = (
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
)
