"""The sources of glibc's mathematical functions, and changes of them. `libm.py` compiles them."""

from downloads import Archive, Place, Substitution

ARCHIVE = Archive(
    # Debian's archive lacks generated files that the release has. The files that are compiled
    # here are equal in both.
    "glibc",
    (
        Place(
            "pool/main/g/glibc/glibc_2.36.orig.tar.xz",
            "a543c02070d46ccaf866957efd13f10c924daa74c86a90a0254db09a92a708ee",
        ),
        Place(
            "https://ftp.gnu.org/gnu/glibc/glibc-2.36.tar.xz",
            "1c959fea240906226062cb4b1e7ebce71a9f0e3c0836c09e7e3423d434fcfe75",
        ),
    ),
    used=(
        "COPYING.LIB",
        "LICENSES",
        "math/mul_split.h",
        "sysdeps/ieee754/dbl-64",
        "sysdeps/ieee754/flt-32",
    ),
)

SUBSTITUTIONS = (
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/s_log1p.c",
        "GCC moves this product out of both branches, to a place where no addition follows that it could be fused with",
        "  if (k == 0)\n    return f - (hfsq - s * (hfsq + R));\n",
        "  R = s * (hfsq + R);\n  if (k == 0)\n    return f - (hfsq - R);\n",
    ),
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/s_log1p.c",
        "the other branch",
        "((hfsq - (s * (hfsq + R) + (k * ln2_lo + c))) - f)",
        "((hfsq - (R + (k * ln2_lo + c))) - f)",
    ),
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/e_asin.c",
        "as in `s_log1p.c`",
        "    if (m<0) {\n      cor = (hp1.x - cc)-(y+cc)*p;\n",
        "    p=(y+cc)*p;\n    if (m<0) {\n      cor = (hp1.x - cc)-p;\n",
    ),
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/e_asin.c",
        "the other branch",
        "      cor = cc+p*(y+cc);\n",
        "      cor = cc+p;\n",
    ),
)
