"""The mathematical functions of the image: those of glibc, with bit-identical results to x86-64.

`math`, `cmath`, `random` and `**` call the C library. A program that prints a
float is compared with the output of Python on Linux, where that library is
glibc. This file has the table of glibc's files and their compiler options. The
headers they need are in `c/libm/`; `fuse.py` decides which operations are fused.
"""

from pathlib import Path

import fuse
import sources
from toolchain import GUEST, Failed, Unit, hash_of

FOLDER = "glibc/sysdeps/ieee754/dbl-64"

# Functions that glibc 2.36 of Debian 12 also compiles for fused multiply-add
# (`sysdeps/x86_64/fpu/multiarch`).
FUSED = "e_asin e_atan2 e_exp e_log e_log2 e_pow s_atan s_expm1 s_log1p s_sin s_tan"
PLAIN = """
    e_acosh e_atanh e_cosh e_exp2 e_hypot e_log10 e_sinh s_asinh s_cbrt s_erf s_tanh
    e_exp_data e_log2_data e_log_data e_pow_log_data sincostab branred math_err
"""

# Calls must not be replaced by builtins: `sinh` of glibc must call the `exp` compiled here.
FLAGS = (
    "-O2",
    "-g0",
    "-w",
    "-std=gnu11",
    "-fno-builtin",
    "-fno-math-errno",
    "-fvisibility=hidden",
    f"-I{FOLDER}",
)
# Vectors would hide operations from `fuse.py`, which only reads scalar operations.
SCALAR = ("-fno-vectorize", "-fno-slp-vectorize")
RELAXED = ("-msimd128", "-mrelaxed-simd")


def objects(steps):
    """The objects of the functions, which precede all other objects on the linker's command line.

    The C library precedes them, and the linker takes a function from it at the first reference.
    Functions that others call therefore come first.
    """
    headers = ("-include", "math_private.h", f"-I{steps.own / 'libm'}")
    plain = [Unit(f"{FOLDER}/{name}.c") for name in PLAIN.split()]
    own = [Unit("libm/fma.c", RELAXED, own=True), Unit("libm/atan2.c", own=True)]
    found = steps.compile_all(own, GUEST, FLAGS)
    found += steps.each(lambda name: fused(steps, name, headers), FUSED.split())
    return found + steps.compile_all(plain, GUEST, FLAGS + ("-ffp-contract=off",) + headers)


def fused(steps, name, headers):
    """Compiles a file in two steps and fuses operations between them."""
    source = f"{FOLDER}/{name}.c"
    flags = FLAGS + SCALAR + RELAXED + ("-ffp-contract=fast", "-DASSAY_FUSED")
    rules = Path(fuse.__file__).read_bytes()
    key = hash_of(
        sources.ZIG, sources.inputs_of(source), steps.headers, GUEST, repr(flags), source, rules
    )
    compiler = [str(steps.zig), "cc", "-target", GUEST]

    def make(out):
        before, after = out.with_suffix(".ll"), out.with_suffix(".fused.ll")
        try:
            command = compiler + ["-S", "-emit-llvm", source, *flags, *headers, "-o", str(before)]
            steps.run(command, f"compiling {source}")
            after.write_text(fuse.fuse(before.read_text()))
            steps.run(
                compiler + ["-c", str(after), "-O2", "-w", *SCALAR, *RELAXED, "-o", str(out)],
                f"compiling {source}",
            )
        except fuse.Unexpected as error:
            raise Failed(f"{source}: {error}") from error
        finally:
            before.unlink(missing_ok=True)
            after.unlink(missing_ok=True)

    return steps.kept(key, ".o", make)
