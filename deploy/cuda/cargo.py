#!/usr/bin/env python3
"""Runs cargo such that the feature `cuda` builds on a machine without CUDA.

    python3 deploy/cuda/cargo.py build --locked --package assay --features cuda

Arguments, output and exit status are those of cargo. This file runs the steps of the preparation
and passes their results to cargo. Each step is a module: `toolkit` (NVIDIA's compiler), `shims`
(libraries for the linker), `kernels` (candle's kernels with another build script). The results are
stored in the user's cache folder. Nothing is written to the clone.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import build_cache
import kernels
import shims
import toolkit
from build_cache import BuildError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Minimum compute capability of the kernels. For 90 and above, `cudaforge` targets `sm_90a`, whose
# PTX cannot be compiled for any other architecture.
COMPUTE_CAP = "80"


def locked_crates(cargo):
    """Returns the source folders of the crates in `Cargo.lock`. Fetches missing crates."""
    command = [cargo, "metadata", "--locked", "--format-version", "1", "--all-features"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    completed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return {
        package["name"]: Path(package["manifest_path"]).parent
        for package in json.loads(completed.stdout)["packages"]
    }


def prepare(cargo, cache):
    """Returns the leading arguments and the environment for cargo."""
    crates = locked_crates(cargo)
    nvidia = build_cache.folder(cache, "toolkit", build_cache.digest(toolkit.PINS), toolkit.install)
    recipe = build_cache.digest(shims.SOURCE, HERE / "shims.py", crates["cudarc"].name)
    libraries = build_cache.folder(
        cache, "libraries", recipe, lambda root: shims.make(crates["cudarc"], root)
    )
    recipe = build_cache.digest(
        kernels.BUILD_SCRIPT, HERE / "kernels.py", crates["candle-kernels"].name
    )
    overrides = build_cache.folder(
        cache, "crates", recipe, lambda root: kernels.make(crates["candle-kernels"], root)
    )

    root = nvidia / toolkit.ROOT
    environment = dict(
        os.environ, CUDA_HOME=str(root), CUDA_ROOT=str(libraries), NVCC=str(root / "bin" / "nvcc")
    )
    environment["PATH"] = os.pathsep.join((str(root / "bin"), os.environ["PATH"]))
    environment.setdefault("CUDA_COMPUTE_CAP", COMPUTE_CAP)
    for other in ("CUDA_PATH", "CUDA_TOOLKIT_ROOT_DIR"):
        environment.pop(other, None)
    return ["--config", f'paths=["{overrides / "candle-kernels"}"]'], environment


def main():
    cargo = os.environ.get("CARGO", "cargo")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        sys.exit(
            "cargo.py: only Linux on x86_64 is supported; elsewhere install CUDA 13 and run cargo"
        )
    try:
        leading, environment = prepare(cargo, build_cache.default_cache().expanduser())
        os.execvpe(cargo, [cargo, *leading, *sys.argv[1:]], environment)
    except (BuildError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"cargo.py: {error}")


if __name__ == "__main__":
    main()
