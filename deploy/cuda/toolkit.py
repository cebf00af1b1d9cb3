"""Installs NVIDIA's compiler and headers from the package index that pip is configured for.

`requirements.txt` pins each wheel by its hash. The unpacked wheels have the layout of a CUDA
installation without libraries.
"""

import subprocess
import sys
from pathlib import Path

from build_cache import BuildError, progress

PINS = Path(__file__).resolve().parent / "requirements.txt"

# Path of the installation in the folder of the unpacked wheels.
ROOT = Path("nvidia") / "cu13"


def install_wheels(pins, folder):
    """Installs the wheels that a file pins in `folder`."""
    progress(f"installing the packages of {pins.name} with pip")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-cache-dir",
        "--no-compile",
    ]
    command += [
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--target",
        str(folder),
        "--requirement",
        str(pins),
    ]
    completed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if completed.returncode != 0:
        output = completed.stdout.decode("utf-8", "replace").strip()
        raise BuildError(f"pip could not install the packages of {pins.name}:\n{output}")


def install(folder):
    """Installs the compiler in `folder`."""
    install_wheels(PINS, folder)
    if not (folder / ROOT / "bin" / "nvcc").is_file():
        raise BuildError(
            f"the wheels do not contain `{ROOT}/bin/nvcc`; check the pins in {PINS.name}"
        )
