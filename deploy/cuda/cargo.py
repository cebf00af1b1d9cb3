#!/usr/bin/env python3
"""Runs cargo such that the feature `cuda` builds on a machine without CUDA.

    python3 deploy/cuda/cargo.py build --locked --package assay --features cuda

Arguments, output and exit status are those of cargo. This file runs the steps of the preparation
and passes their results to cargo. Each step is a module: `toolkit` (NVIDIA's compiler), `shims`
(libraries for the linker), `kernels` (candle's kernels with another build script), and, if the
feature `flash-attn` is named, `flash` (kernels of FlashAttention). The results are
stored in the user's cache folder. Nothing is written to the clone.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import build_cache
import flash
import interface
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


def prepare(cargo, cache, arguments):
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
    paths = [overrides / "candle-kernels"]
    if any("flash-attn" in argument for argument in arguments):
        paths.append(flash_attention(crates["candle-flash-attn"], cache, root))

    environment = dict(
        os.environ, CUDA_HOME=str(root), CUDA_ROOT=str(libraries), NVCC=str(root / "bin" / "nvcc")
    )
    environment["PATH"] = os.pathsep.join((str(root / "bin"), os.environ["PATH"]))
    environment.setdefault("CUDA_COMPUTE_CAP", COMPUTE_CAP)
    for other in ("CUDA_PATH", "CUDA_TOOLKIT_ROOT_DIR"):
        environment.pop(other, None)
    quoted = ", ".join(f'"{path}"' for path in paths)
    return ["--config", f"paths=[{quoted}]"], environment


def flash_attention(crate, cache, cuda):
    """Returns the folder of `candle-flash-attn` with compiled kernels."""
    interface.check(crate)
    pins = build_cache.digest(flash.PINS)
    cutlass = build_cache.folder(cache, "cutlass", pins, flash.install_cutlass)
    recipe = build_cache.digest(
        *flash.SOURCES, HERE / "flash.py", flash.PINS, toolkit.PINS, crate.name
    )
    nvcc = cuda / "bin" / "nvcc"
    made = build_cache.folder(
        cache, "flash", recipe, lambda root: flash.make(crate, nvcc, cutlass, root)
    )
    return made / "candle-flash-attn"


def main():
    cargo = os.environ.get("CARGO", "cargo")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        sys.exit(
            "cargo.py: only Linux on x86_64 is supported; elsewhere install CUDA 13 and run cargo"
        )
    try:
        cache = build_cache.default_cache().expanduser()
        leading, environment = prepare(cargo, cache, sys.argv[1:])
        os.execvpe(cargo, [cargo, *leading, *sys.argv[1:]], environment)
    except (BuildError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"cargo.py: {error}")


if __name__ == "__main__":
    main()
