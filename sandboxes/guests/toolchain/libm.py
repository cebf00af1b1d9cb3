"""The mathematical functions of the guests: those of glibc, with bit-identical results to x86-64.

Programs that print numbers are compared with their output on Linux, where the C library is glibc.
This file has the tables of glibc's files and their compiler options. The headers that they need are
in `c/libm/`; `fuse.py` decides which operations are fused.
"""

from pathlib import Path
from typing import NamedTuple, Tuple

import downloads
import fuse
import glibc
from toolchain import OWN, Failed, hash_of

DOUBLE = "glibc/sysdeps/ieee754/dbl-64"
FLOAT = "glibc/sysdeps/ieee754/flt-32"
HEADERS = OWN / "libm"


class Functions(NamedTuple):
    """Files of glibc without their suffix, and own files."""

    folder: str
    # Files that glibc 2.36 of Debian 12 also compiles for fused multiply-add
    # (`sysdeps/x86_64/fpu/multiarch`).
    fused: str
    plain: str
    own: str = ""


# The functions that Python's `math` uses.
BASIC = Functions(
    DOUBLE,
    fused="e_asin e_atan2 e_exp e_log e_log2 e_pow s_atan s_expm1 s_log1p s_sin s_tan",
    plain="""
        e_acosh e_atanh e_cosh e_exp2 e_hypot e_log10 e_sinh s_asinh s_cbrt s_erf s_tanh
        e_exp_data e_log2_data e_log_data e_pow_log_data sincostab branred math_err
    """,
    own="fma atan2",
)

# The other ones of C, and all of `float`.
ALL = (
    BASIC,
    Functions(
        DOUBLE,
        fused="s_sincos",
        plain="""
            e_exp10 e_gamma_r e_j0 e_j1 e_jn e_lgamma_r gamma_productf lgamma_neg
        """,
        own="gamma products",
    ),
    Functions(
        FLOAT,
        fused="e_exp2f e_expf e_log2f e_logf e_powf s_cosf s_sincosf s_sinf",
        plain="""
            e_acosf e_acoshf e_asinf e_atan2f e_atanhf e_coshf e_exp10f e_gammaf_r e_hypotf
            e_j0f e_j1f e_jnf e_lgammaf_r e_log10f e_sinhf k_tanf lgamma_negf lgamma_productf
            s_asinhf s_atanf s_cbrtf s_erff s_expm1f s_log1pf s_tanf s_tanhf
            e_exp2f_data e_log2f_data e_logf_data e_powf_log2_data s_sincosf_data math_errf
        """,
    ),
)

# Calls must not be replaced by builtins: `sinh` of glibc must call the `exp` compiled here.
FLAGS = (
    "-O2",
    "-g0",
    "-w",
    "-std=gnu11",
    "-fno-builtin",
    "-fno-math-errno",
    "-fvisibility=hidden",
)
# Vectors would hide operations from `fuse.py`, which only reads scalar operations.
SCALAR = ("-fno-vectorize", "-fno-slp-vectorize")
RELAXED = ("-msimd128", "-mrelaxed-simd")


class Compiler(NamedTuple):
    """How a guest calls the compiler: the steps, and the first arguments of zig."""

    steps: object
    arguments: Tuple[str, ...]

    def kept(self, source, content, flags, make):
        """The stored result for a source and what it includes."""
        headers = [path.read_bytes() for path in sorted(HEADERS.glob("*.h"))]
        inputs = repr((glibc.ARCHIVE, self.arguments, flags))
        key = hash_of(
            downloads.ZIG, self.steps.inputs_of(source), inputs, source, content, *headers
        )
        return self.steps.kept(key, ".o", make)

    def run(self, source, *arguments):
        command = [str(self.steps.zig), *self.arguments, *map(str, arguments)]
        self.steps.run(command, f"compiling {source}")

    def plain(self, source, path, content, flags):
        """Compiles a file."""
        return self.kept(
            source, content, flags, lambda out: self.run(source, "-c", path, *flags, "-o", out)
        )

    def fused(self, source, flags):
        """Compiles a file in two steps, and fuses operations between them."""
        flags += SCALAR + RELAXED + ("-ffp-contract=fast", "-DASSAY_FUSED")

        def make(out):
            before, after = out.with_suffix(".ll"), out.with_suffix(".fused.ll")
            try:
                self.run(source, "-S", "-emit-llvm", source, *flags, "-o", before)
                after.write_text(fuse.fuse(before.read_text()))
                options = ("-O2", "-w", *SCALAR, *RELAXED)
                self.run(source, "-c", after, *options, "-o", out)
            except fuse.Unexpected as error:
                raise Failed(f"{source}: {error}") from error
            finally:
                before.unlink(missing_ok=True)
                after.unlink(missing_ok=True)

        return self.kept(source, Path(fuse.__file__).read_bytes(), flags, make)


def objects(steps, arguments, tables):
    """The objects of the functions, in an order in which functions that others call come first.

    If a C library precedes them on the linker's command line, the linker takes a function from it
    at the first reference.
    """
    compiler, found = Compiler(steps, arguments), []
    for table in tables:
        headers = ("-include", "math_private.h", f"-I{HEADERS}", "-Iglibc/math")
        flags = (*FLAGS, f"-I{table.folder}")

        def own(name):
            path = HEADERS / f"{name}.c"
            options = RELAXED if name == "fma" else ()
            return compiler.plain(f"libm/{name}.c", path, path.read_bytes(), flags + options)

        def plain(name):
            source = f"{table.folder}/{name}.c"
            return compiler.plain(source, source, "", (*flags, "-ffp-contract=off", *headers))

        found += steps.each(own, table.own.split())
        found += steps.each(
            lambda name: compiler.fused(f"{table.folder}/{name}.c", flags + headers),
            table.fused.split(),
        )
        found += steps.each(plain, table.plain.split())
    return found
