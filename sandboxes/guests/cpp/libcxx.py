"""The C++ libraries: libc++, libc++abi and libunwind, with exceptions of WebAssembly."""

from libc import PUBLIC
from toolchain import Unit

CXX = (
    "-std=c++23",
    "-Ilibcxx/src",
    "-isystem",
    "libcxx/include",
    "-isystem",
    "libcxxabi/include",
    *PUBLIC,
    "-D_GNU_SOURCE",
    "-D_LIBCPP_BUILDING_LIBRARY",
    "-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
)

# Files that are for other configurations, or that `c/` replaces.
UNUSED = ("libcxxabi/src/cxa_noexception.cpp", "libcxx/src/hash.cpp")

OWN = ("calls.cpp", "hash.cpp", "new.cpp", "streams.cpp", "terminate.cpp")


def units(tree):
    found = []
    for folder in ("libcxx/src", "libcxx/src/filesystem", "libcxx/src/ryu"):
        for path in sorted((tree / folder).glob("*.cpp")):
            flags = CXX + ("-DLIBCXX_BUILDING_LIBCXXABI",)
            if path.name == "charconv.cpp":
                flags += ("-Ilibcxx/libc", "-DLIBC_NAMESPACE=__llvm_libc_common_utils")
            found.append(Unit(f"{folder}/{path.name}", flags))
    for path in sorted((tree / "libcxxabi/src").glob("*.cpp")):
        flags = CXX + (
            "-D_LIBCXXABI_BUILDING_LIBRARY",
            "-DLIBCXXABI_USE_LLVM_UNWINDER",
            "-Ilibunwind/include",
        )
        found.append(Unit(f"libcxxabi/src/{path.name}", flags))
    flags = (
        "-std=gnu17",
        *PUBLIC,
        "-Ilibunwind/include",
        "-D_LIBUNWIND_HIDE_SYMBOLS",
        "-D_LIBUNWIND_HAS_NO_THREADS",
        "-D_LIBUNWIND_IS_NATIVE_ONLY",
    )
    found.append(Unit("libunwind/src/Unwind-wasm.c", flags))
    found += [Unit(name, CXX, own=True) for name in OWN]
    return [unit for unit in found if unit.source not in UNUSED]
