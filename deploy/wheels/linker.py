#!/usr/bin/env python3
"""Links with zig for an old version of the C library, so that the result runs on every distribution
since 2018. rustc calls it as its linker; ASSAY_ZIG is the path of zig.
"""

import os
import platform
import sys

# `manylinux_2_28` requires no newer glibc.
GLIBC = "2.28"


def main():
    target = f"{platform.machine()}-linux-gnu.{GLIBC}"
    # zig has its own unwinder, so the binary needs no `libgcc_s.so.1`, which containers may lack.
    arguments = ["-lunwind" if word == "-lgcc_s" else word for word in sys.argv[1:]]
    zig = os.environ["ASSAY_ZIG"]
    os.execv(zig, [zig, "cc", "-target", target, *arguments])


if __name__ == "__main__":
    main()
