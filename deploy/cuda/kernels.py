"""`candle-kernels` with a build script that omits the kernels that reward models do not use.

The crate's own build script also compiles a library for GGUF matrices and mixtures of experts,
which takes 8 CPU minutes and 30 MB and targets one generation of GPUs. Sources and manifest are
those of the registry, so `Cargo.lock` remains valid.
"""

import shutil
from pathlib import Path

BUILD_SCRIPT = Path(__file__).resolve().parent / "kernels.rs"


def make(crate, root):
    """Copies the crate to `root`, in a folder with the name of the crate without its version."""
    folder = root / "candle-kernels"
    shutil.copytree(crate, folder)
    shutil.copyfile(BUILD_SCRIPT, folder / "build.rs")
