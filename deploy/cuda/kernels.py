"""`candle-kernels`, with a build script that leaves out what a reward model never calls.

The crate's own script also compiles a library for matrices in GGUF's formats
and for mixtures of experts: 8 CPU minutes and 30 MB, for one generation of
GPUs. The sources and the manifest stay the registry's, so `Cargo.lock` holds.
"""

import shutil
from pathlib import Path

BUILD_SCRIPT = Path(__file__).resolve().parent / "kernels.rs"


def make(crate, root):
    """Puts the crate in `root`; its folder there is named after it, without a version."""
    folder = root / "candle-kernels"
    shutil.copytree(crate, folder)
    shutil.copyfile(BUILD_SCRIPT, folder / "build.rs")
