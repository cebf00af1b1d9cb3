#!/usr/bin/env python3
"""Runs cargo so that the feature `cuda` builds on a machine without CUDA.

    python3 deploy/cuda/cargo.py build --locked --package assay --features cuda

Arguments are cargo's own, and so are the output and the exit status. This file
owns the order of the steps and what cargo is told; each step is a module
beside it: `toolkit` (NVIDIA's compiler), `shims` (libraries for the linker),
`kernels` (candle's kernels as this build needs them). What they make is kept in
the user's cache folder. Nothing is written in the clone.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import kept
import kernels
import shims
import toolkit
from kept import Failed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# GPUs that the kernels are for, from this compute capability on: 80 is the A100. PTX of 90 and above would run on no
# other architecture, because `cudaforge` takes it for `sm_90a`.
COMPUTE_CAP = "80"


def locked_crates(cargo):
    """Folders of the crates that `Cargo.lock` names, in cargo's registry; fetched if need be."""
    command = [cargo, "metadata", "--locked", "--format-version", "1", "--all-features"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return {package["name"]: Path(package["manifest_path"]).parent for package in json.loads(done.stdout)["packages"]}


def prepared(cargo, cache):
    """What cargo is told: its leading arguments, and the environment that replaces ours."""
    crates = locked_crates(cargo)
    nvidia = kept.folder(cache, "toolkit", kept.digest(toolkit.PINS), toolkit.install)
    recipe = kept.digest(shims.SOURCE, HERE / "shims.py", crates["cudarc"].name)
    libraries = kept.folder(cache, "libraries", recipe, lambda root: shims.make(crates["cudarc"], root))
    recipe = kept.digest(kernels.BUILD_SCRIPT, HERE / "kernels.py", crates["candle-kernels"].name)
    overrides = kept.folder(cache, "crates", recipe, lambda root: kernels.make(crates["candle-kernels"], root))

    root = nvidia / toolkit.ROOT
    environment = dict(os.environ, CUDA_HOME=str(root), CUDA_ROOT=str(libraries), NVCC=str(root / "bin" / "nvcc"))
    environment["PATH"] = os.pathsep.join((str(root / "bin"), os.environ["PATH"]))
    environment.setdefault("CUDA_COMPUTE_CAP", COMPUTE_CAP)
    for other in ("CUDA_PATH", "CUDA_TOOLKIT_ROOT_DIR"):
        environment.pop(other, None)
    return ["--config", f'paths=["{overrides / "candle-kernels"}"]'], environment


def main():
    cargo = os.environ.get("CARGO", "cargo")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        sys.exit("cargo.py: CUDA is built without CUDA on Linux on x86_64 only; elsewhere run cargo beside CUDA 13")
    try:
        leading, environment = prepared(cargo, kept.default_cache().expanduser())
        os.execvpe(cargo, [cargo, *leading, *sys.argv[1:]], environment)
    except (Failed, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"cargo.py: {error}")


if __name__ == "__main__":
    main()
