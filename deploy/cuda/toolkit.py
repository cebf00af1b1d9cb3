"""NVIDIA's compiler and headers, from the package index pip is configured for.

`requirements.txt` pins each wheel by its hash. The wheels unpack into what a
CUDA installation looks like, without its libraries.
"""

import subprocess
import sys
from pathlib import Path

from kept import Failed, say

PINS = Path(__file__).resolve().parent / "requirements.txt"

# Where the installation is in the folder the wheels are unpacked in.
ROOT = Path("nvidia") / "cu13"


def install(folder):
    """Unpacks the wheels in `folder`."""
    say("fetching NVIDIA's compiler with pip")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir", "--no-compile"]
    command += ["--require-hashes", "--only-binary", ":all:", "--target", str(folder), "--requirement", str(PINS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        output = done.stdout.decode("utf-8", "replace").strip()
        raise Failed(f"pip could not install what {PINS.name} pins:\n{output}")
    if not (folder / ROOT / "bin" / "nvcc").is_file():
        raise Failed(f"the wheels hold no `{ROOT}/bin/nvcc`: were the pins changed?")
