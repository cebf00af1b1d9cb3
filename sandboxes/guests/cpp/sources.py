"""The sources of the guest: the tree of C and C++ libraries from the compiler's wheel, adapted to
64-bit WebAssembly, and the package with the compiler that runs in the sandbox. Compiles nothing.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import downloads
import glibc
from downloads import Unavailable, digest_of, say
from substitutions import SUBSTITUTIONS, WITHOUT_ASSERTIONS

# Parts of the compiler's wheel: the path in its `lib`, and the path in the tree. Later parts
# replace files of earlier ones: the C library of WASI is musl with changed files.
PARTS = (
    ("libc/musl/src", "libc/src"),
    ("libc/musl/include", "libc/include"),
    ("libc/musl/arch/generic", "libc/arch/generic"),
    ("libc/wasi/libc-top-half/musl/src", "libc/src"),
    ("libc/wasi/libc-top-half/musl/include", "libc/include"),
    ("libc/wasi/libc-top-half/musl/arch/wasm32", "libc/arch/wasm"),
    ("libc/wasi/libc-top-half/headers", "libc/headers"),
    ("libc/wasi/libc-top-half/sources", "libc/wasi"),
    ("libc/wasi/libc-bottom-half", "libc/bottom"),
    ("libc/wasi/thread-stub", "libc/thread-stub"),
    ("libc/include/generic-musl", "include"),
    ("libc/include/wasm-wasi-musl", "include"),
    ("libcxx", "libcxx"),
    ("libcxxabi", "libcxxabi"),
    ("libunwind", "libunwind"),
    ("include", "builtin"),
    ("compiler_rt", "zig/compiler_rt"),
    ("compiler_rt.zig", "zig/compiler_rt.zig"),
    ("c", "zig/c"),
    ("c.zig", "zig/c.zig"),
)

HERE = Path(__file__).resolve().parent

# Own files that libc++ includes, and where they are in the tree.
ADDED = (
    ("headers/standard/__config_site.hpp", "libcxx/include/__config_site"),
    ("c/distributions.h", "libcxx/include/__random/assay_distributions.h"),
    ("c/order.h", "libcxx/include/__algorithm/assay_order.h"),
    ("c/uniform.h", "libcxx/include/__random/assay_uniform.h"),
    ("c/standard_streams.h", "libcxx/src/standard_streams.h"),
)

# The compiler that runs in the sandbox: clang and wasm-ld of LLVM 22 in one module.
COMPILER = "@yowasp/clang"
COMPILER_VERSION = "22.0.0-git20542-10"
COMPILER_SHA256 = "6230ea1afa9691fa065935cf68c01642ff9b31c183fe8ac64cdfda025df06009"

# The compiler's own headers. The others are for other processors.
COMPILER_HEADERS = (
    "__float_float.h __float_header_macro.h __float_infinity_nan.h __stdarg___gnuc_va_list.h "
    "__stdarg___va_copy.h __stdarg_header_macro.h __stdarg_va_arg.h __stdarg_va_copy.h "
    "__stdarg_va_list.h __stddef_header_macro.h __stddef_max_align_t.h __stddef_null.h "
    "__stddef_nullptr_t.h __stddef_offsetof.h __stddef_ptrdiff_t.h __stddef_rsize_t.h "
    "__stddef_size_t.h __stddef_unreachable.h __stddef_wchar_t.h __stddef_wint_t.h builtins.h "
    "float.h inttypes.h iso646.h limits.h stdalign.h stdarg.h stdatomic.h stdbool.h "
    "stdckdint.h stddef.h stdint.h stdnoreturn.h tgmath.h unwind.h varargs.h wasm_simd128.h"
).split()


def tree_hash():
    """Hash of everything from which the tree is made."""
    return hash_of_inputs(PARTS, glibc.ARCHIVE, SUBSTITUTIONS)


def hash_of_inputs(*inputs):
    added = [(HERE / source).read_bytes() for source, target in ADDED]
    every = (downloads.ZIG, WITHOUT_ASSERTIONS, ADDED, added, inputs)
    return hashlib.sha256(repr(every).encode()).hexdigest()[:24]


def inputs_of(source):
    """Hash of everything in the tree on which an object depends: the wheel, and changes of headers
    and of its own file.
    """
    own = source[: -len(".zig")] if source.endswith(".zig") else source
    changes = [
        change
        for change in SUBSTITUTIONS
        if change.path.startswith(own) or not change.path.endswith((".c", ".cpp", ".zig"))
    ]
    return hash_of_inputs(changes)


def unpack(home, zig, cache):
    """Returns the source tree. `zig` is the unpacked compiler, whose hash was checked, and `cache`
    the folder of downloads.
    """
    tree = home / "source" / tree_hash()
    if tree.exists():
        return tree
    tree.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=tree.parent))
    try:
        say("copying the sources of the libraries")
        for source, target in PARTS:
            path = zig.parent / "lib" / source
            if path.is_dir():
                shutil.copytree(path, partial / target, dirs_exist_ok=True)
            else:
                shutil.copyfile(path, partial / target)
        path = downloads.fetch(glibc.ARCHIVE, cache)
        downloads.extract(glibc.ARCHIVE, path, partial / glibc.ARCHIVE.folder)
        for source, target in ADDED:
            shutil.copyfile(HERE / source, partial / target)
        for path in WITHOUT_ASSERTIONS:
            lines = (partial / path).read_text().splitlines(keepends=True)
            kept = [line for line in lines if not line.startswith("_Static_assert(")]
            (partial / path).write_text("".join(kept))
        for change in SUBSTITUTIONS:
            downloads.substitute(partial, change)
        os.rename(partial, tree)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return tree


def fetch_compiler(cache):
    """Downloads the package of the compiler from the registry that npm is configured for."""
    kept = cache / COMPILER_SHA256
    if kept.exists():
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    name = f"{COMPILER}@{COMPILER_VERSION}"
    say(f"fetching {name} with npm")
    with tempfile.TemporaryDirectory(prefix="package-", dir=cache) as folder:
        command = ["npm", "pack", name, "--json", "--pack-destination", folder]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True)
            output = done.stderr.decode("utf-8", "replace").strip()
        except OSError as error:
            output = str(error)
        packages = list(Path(folder).glob("*.tgz"))
        if len(packages) != 1:
            raise Unavailable(
                f"npm could not download {name}; put its archive with sha256 {COMPILER_SHA256} at "
                f"{kept}, or fix npm:\n{output}"
            )
        found = digest_of(packages[0])
        if found != COMPILER_SHA256:
            raise Unavailable(f"npm downloaded {name} with sha256 {found}")
        os.rename(packages[0], kept)
    return kept


def unpack_compiler(cache, target):
    """Writes the module of the compiler, and returns its own headers: names and contents."""
    headers = {}
    with tarfile.open(fetch_compiler(cache)) as package:
        module = package.extractfile("package/gen/llvm.core.wasm")
        with open(target, "wb") as file:
            shutil.copyfileobj(module, file, 1 << 20)
        resources = package.extractfile("package/gen/llvm-resources.tar")
        with tarfile.open(fileobj=resources) as tar:
            for member in tar:
                folder, _, name = member.name.rpartition("/")
                if folder == "include" and name in COMPILER_HEADERS:
                    headers[name] = tar.extractfile(member).read()
    missing = set(COMPILER_HEADERS) - set(headers)
    if missing:
        raise Unavailable(f"{COMPILER} lacks headers: {' '.join(sorted(missing))}")
    return headers
