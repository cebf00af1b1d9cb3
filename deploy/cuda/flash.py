"""`candle-flash-attn` with a few kernels that are compiled here, once for all builds.

The crate's own build script clones CUTLASS with git and compiles 52 kernels, which takes hours.
This compiles FlashAttention over sequences of different lengths for two types and two head
dimensions, with the crate's headers. The crate's Rust code and manifest are those of the registry,
so `Cargo.lock` remains valid.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import toolkit
from build_cache import BuildError, progress

HERE = Path(__file__).resolve().parent / "flash"
PINS = HERE.parent / "cutlass.txt"
SOURCES = (HERE / "attention.cu", HERE / "entry.cu", HERE / "build.rs")

# Folders of headers among the unpacked wheels.
CUTLASS = Path("cutlass_library") / "source" / "include"

TYPES = {"half": "cutlass::half_t", "bfloat16": "cutlass::bfloat16_t"}
HEAD_DIMS = (64, 128)

# Machine code for compute capability 8 and 9, and PTX, which drivers compile for later ones.
ARCHITECTURES = "arch=compute_80,code=[sm_80,sm_90,compute_80]"

FLAGS = ["-std=c++17", "-O3", "-w", "--use_fast_math", "--expt-relaxed-constexpr"]
FLAGS += ["--expt-extended-lambda", "-Xcompiler", "-fPIC", "-gencode", ARCHITECTURES]
FLAGS += ["-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__"]
FLAGS += ["-U__CUDA_NO_HALF2_OPERATORS__", "-U__CUDA_NO_BFLOAT16_CONVERSIONS__"]


def install_cutlass(folder):
    """Installs the headers in `folder`."""
    toolkit.install_wheels(PINS, folder)
    if not (folder / CUTLASS / "cutlass" / "cutlass.h").is_file():
        raise BuildError(f"the wheels do not contain `{CUTLASS}`; check the pins in {PINS.name}")


def compile_kernels(nvcc, headers, folder):
    """Writes `folder/libflashattention.a`."""
    with tempfile.TemporaryDirectory() as scratch:
        objects = []

        def run(source, name, defines):
            progress(f"compiling FlashAttention: {name}")
            objects.append(str(Path(scratch) / f"{name}.o"))
            command = [str(nvcc), "-c", str(source), "-o", objects[-1], *FLAGS]
            command += [f"-I{header}" for header in headers]
            command += [f"-D{define}={value}" for define, value in defines.items()]
            subprocess.run(command, check=True)

        run(HERE / "entry.cu", "entry", {})
        # One after the other: each takes 4 GB of memory.
        for name, element in TYPES.items():
            for size in HEAD_DIMS:
                function = f"attention_{name}_{size}"
                defines = {"ELEMENT": element, "HEAD_DIM": size, "NAME": function}
                run(HERE / "attention.cu", function, defines)
        subprocess.run(["ar", "rcs", str(folder / "libflashattention.a"), *objects], check=True)


def make(crate, nvcc, cutlass, root):
    """Copies the crate to `root`, in a folder with the name of the crate without its version."""
    folder = root / "candle-flash-attn"
    shutil.copytree(crate, folder)
    shutil.copyfile(HERE / "build.rs", folder / "build.rs")
    compile_kernels(nvcc, [folder / "kernels", cutlass / CUTLASS], folder)
