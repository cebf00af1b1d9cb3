"""How the host calls the compiler and the linker: command lines with placeholders in braces. The
first word is the name by which the module decides what to do. Words that become empty are left out.
"""

from sysroot import ROOT

SHARED = (
    "clang",
    "-cc1",
    "-triple",
    "wasm64-unknown-wasip1",
    "-O2",
    "-disable-free",
    "-clear-ast-before-backend",
    "-disable-llvm-verifier",
    "-discard-value-names",
    "-mrelocation-model",
    "static",
    "-mframe-pointer=none",
    "-ffp-contract=off",
    "-fno-rounding-math",
    "-mconstructor-aliases",
    "-target-cpu",
    "generic",
    "-target-feature",
    "+exception-handling",
    "-target-feature",
    "+multivalue",
    "-target-feature",
    "+reference-types",
    "-target-feature",
    "+simd128",
    "-exception-model=wasm",
    "-mllvm",
    "-wasm-enable-eh",
    "-mllvm",
    "-wasm-use-legacy-eh=false",
    "-mllvm",
    "-wasm-enable-sjlj",
    "-fexceptions",
    "-fvisibility=hidden",
    "-nostdsysteminc",
    "-nobuiltininc",
    "-resource-dir",
    ROOT,
    "-fgnuc-version=4.2.1",
    "-vectorize-loops",
    "-vectorize-slp",
    # Each iteration of a loop counts its work, which takes as long as several instructions.
    "-mllvm",
    "-unroll-partial-threshold=200",
    # `-w`, or what the host needs to read the warnings.
    "{warnings}",
    "{builtins}",
    "-ferror-limit",
    "20",
    "-D_GNU_SOURCE",
    "-D_WASI_EMULATED_SIGNAL",
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-D_WASI_EMULATED_GETPID",
    "-D_WASI_EMULATED_MMAN",
    "-DONLINE_JUDGE",
    "-std={standard}",
)

# What later standards remove, and GCC's library keeps.
REMOVED = (
    "17_REMOVED_AUTO_PTR",
    "17_REMOVED_BINDERS",
    "17_REMOVED_RANDOM_SHUFFLE",
    "17_REMOVED_UNARY_BINARY_FUNCTION",
    "20_REMOVED_BINDER_TYPEDEFS",
    "20_REMOVED_NEGATORS",
    "20_REMOVED_RAW_STORAGE_ITERATOR",
    "20_REMOVED_TEMPORARY_BUFFER",
    "20_REMOVED_TYPE_TRAITS",
    "20_REMOVED_UNCAUGHT_EXCEPTION",
    "26_REMOVED_CODECVT",
    "26_REMOVED_STRSTREAM",
    "26_REMOVED_WSTRING_CONVERT",
)

CXX = (
    "-fcxx-exceptions",
    "-fdeprecated-macro",
    "-fskip-odr-check-in-gmf",
    *(f"-D_LIBCPP_ENABLE_CXX{name}" for name in REMOVED),
    "-internal-isystem",
    f"{ROOT}/gnu",
    "-internal-isystem",
    f"{ROOT}/c++",
)

C = (
    "-internal-isystem",
    f"{ROOT}/gnu",
)

LAST = (
    "-internal-isystem",
    f"{ROOT}/builtin",
    "-internal-isystem",
    f"{ROOT}/c",
)

# GCC 12 accepts these with a warning.
ACCEPTED_C = (
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-pointer-types",
    "-Wno-error=return-mismatch",
)
ACCEPTED_CXX = (
    "-Wno-narrowing",
    "-Wno-error=c++11-narrowing",
    "-Wno-vla-cxx-extension",
    "-Wno-register",
)

PRECOMPILED = "bits/instantiations.h"


COMPILE_CXX = SHARED + CXX + LAST + ACCEPTED_CXX + ("-emit-obj", "-o", "{object}", "-x", "c++")
COMPILE_C = SHARED + C + LAST + ACCEPTED_C + ("-emit-obj", "-o", "{object}", "-x", "c", "{source}")

COMMANDS = {
    "c++": COMPILE_CXX + ("{source}",),
    "c++ with precompiled header": COMPILE_CXX + ("-include-pch", "{precompiled}", "{source}"),
    "precompile": SHARED
    + CXX
    + LAST
    + ACCEPTED_CXX
    + (
        "-emit-pch",
        "-fno-pch-timestamp",
        "-fpch-instantiate-templates",
        "-o",
        "{precompiled}",
        "-x",
        "c++-header",
        f"{ROOT}/gnu/{PRECOMPILED}",
    ),
    "c": COMPILE_C,
}

STANDARDS = {
    "c++": ("gnu++14", "gnu++17", "gnu++20", "gnu++23"),
    "c": ("gnu11", "gnu17", "gnu23"),
}
DEFAULTS = {"c++": "gnu++17", "c": "gnu17"}

# Functions of the library whose use cannot work: there is one thread, and no processes.
REFUSED = {"pthread_create": "threads"}


def link(table_base, global_base):
    return (
        "wasm-ld",
        "-m",
        "wasm64",
        f"{ROOT}/library.o",
        f"{ROOT}/{{start}}",
        "{object}",
        "{linked}",
        "{calls}",
        "{caller}",
        "--no-entry",
        f"--allow-undefined-file={ROOT}/functions.txt",
        "--import-table",
        f"--table-base={table_base}",
        f"--global-base={global_base}",
        "-z",
        "stack-size=0",
        "--error-limit=20",
        "-o",
        "{module}",
    )
