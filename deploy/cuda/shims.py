"""Replacements for CUDA's libraries, for linking on a machine without CUDA.

Builds one archive for each library that `cudarc` links, from `shim.c` and the names of the
functions that `cudarc` declares. This file owns the table of libraries and reads the names.
`shim.c` forwards the calls.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from build_cache import BuildError

SOURCE = Path(__file__).resolve().parent / "shim.c"


class Library(NamedTuple):
    """A library. `module` of `cudarc` declares the functions of `-l{name}`. `soname` is opened on
    the first call.
    """

    module: str
    name: str
    soname: str
    # Type of its status codes, and the code that is returned if the library is missing.
    status: str
    missing: int


LIBRARIES = (
    Library("driver", "cuda", "libcuda.so.1", "CUresult", 100),  # CUDA_ERROR_NO_DEVICE
    Library(
        "cublas", "cublas", "libcublas.so.13", "cublasStatus_t", 1
    ),  # CUBLAS_STATUS_NOT_INITIALIZED
    Library(
        "cublaslt", "cublasLt", "libcublasLt.so.13", "cublasStatus_t", 1
    ),  # CUBLAS_STATUS_NOT_INITIALIZED
    Library(
        "curand", "curand", "libcurand.so.10", "curandStatus_t", 203
    ),  # CURAND_STATUS_INITIALIZATION_FAILED
    Library("nvrtc", "nvrtc", "libnvrtc.so.13", "nvrtcResult", 11),  # NVRTC_ERROR_INTERNAL_ERROR
)

# A function declared by `cudarc` that the linker must resolve.
DECLARATION = re.compile(r'extern "C" \{\s*fn (?P<name>\w+)\([^;]*?\)(?: -> (?P<result>[^;]+))?;')


def entries(library, cudarc):
    """Returns the lines of the table for `shim.c`: all functions of the library, sorted by name."""
    declared = (cudarc / "src" / library.module / "sys" / "mod.rs").read_text()
    found = list(DECLARATION.finditer(declared))
    results = {function["name"]: function["result"] for function in found}
    if len(found) != declared.count('extern "C" {') or library.status not in results.values():
        raise BuildError(
            f"`{cudarc.name}` declares functions of {library.soname} in an unknown form; "
            "adapt DECLARATION in shims.py"
        )
    lines = []
    for index, name in enumerate(sorted(results)):
        absence = "failure" if results[name] == library.status else "nothing"
        lines.append(f"ENTRY({index}, {name}, {absence})\n")
    return "".join(lines)


def archive(library, cudarc, folder):
    """Writes `folder/lib{name}.a`."""
    with tempfile.TemporaryDirectory() as scratch:
        table, result = Path(scratch) / "entries.h", Path(scratch) / "shim.o"
        table.write_text(entries(library, cudarc))
        command = ["cc", "-O2", "-fPIC", "-Wall", "-Werror", "-c", str(SOURCE), "-o", str(result)]
        command += [
            f'-DENTRIES="{table}"',
            f'-DLIBRARY="{library.soname}"',
            f"-DSTATUS={library.missing}",
        ]
        subprocess.run(command, check=True)
        subprocess.run(["ar", "rcs", str(folder / f"lib{library.name}.a"), str(result)], check=True)


def make(cudarc, root):
    """Fills `root` such that `cudarc` accepts it as a CUDA installation with libraries only."""
    folder = root / "lib"
    folder.mkdir()
    for library in LIBRARIES:
        archive(library, cudarc, folder)
