#!/usr/bin/env python3
"""Builds `python.wasm`, the image in which Python programs are graded.

This file owns the order of the stages and the layout of the cache. Each stage is a module:
`sources` (downloads), `toolchain` (the compiler), `cpython` (compiled files), `stdlib` (frozen
modules). The result is `CACHE/python/RECIPE/python.wasm`, where RECIPE is the hash of this folder.
Its path is the only line on standard output.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cpython
import sources
import stdlib
import toolchain

HERE = Path(__file__).resolve().parent


def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "assay" / "guests"


def arguments():
    parser = argparse.ArgumentParser(description="Build the Python guest image and print its path.")
    cache_help = "folder for downloads and results (default: %(default)s)"
    parser.add_argument("--cache", type=Path, default=default_cache(), help=cache_help)
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="number of concurrent compilers (default: %(default)s)",
    )
    return parser.parse_args()


def recipe_files():
    """All files of this folder that can affect the image, in a fixed order."""
    chosen = [
        path
        for path in HERE.rglob("*")
        if path.suffix in (".py", ".c", ".h") and "__pycache__" not in path.parts
    ]
    return sorted(chosen, key=lambda path: path.relative_to(HERE).as_posix())


def recipe_hash():
    digest = hashlib.sha256()
    for path in recipe_files():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(HERE).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:24]


@contextlib.contextmanager
def locked(folder):
    """Holds the lock of the folder. A concurrent build waits here."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sources.say("waiting for another build of this image")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(cache, jobs, result):
    """Builds `result`. The path appears atomically when the image is complete."""
    downloads = cache / "downloads"
    home = result.parent.parent
    for abandoned in list(home.glob("building-*")) + list(home.glob("source/unpacking-*")):
        shutil.rmtree(abandoned, ignore_errors=True)
    zig = toolchain.install(cache, downloads)
    tree = sources.unpack(home, downloads)
    scratch = Path(tempfile.mkdtemp(prefix="building-", dir=home))
    try:
        steps = toolchain.Steps(home / "steps", zig, tree, HERE / "c", jobs)
        freezer = cpython.build_freezer(steps, scratch)
        table = stdlib.freeze(steps, freezer, tree, HERE, scratch)
        cpython.link_image(steps, table, scratch, scratch / "image" / result.name)
        shutil.rmtree(result.parent, ignore_errors=True)
        os.rename(scratch / "image", result.parent)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main():
    options = arguments()
    cache = options.cache.expanduser().resolve()
    home = cache / "python"
    result = home / recipe_hash() / "python.wasm"
    try:
        if not result.exists():
            with locked(home):
                if not result.exists():
                    build(cache, options.jobs, result)
    except (sources.Unavailable, toolchain.Failed, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"build.py: {error}")
    print(result)


if __name__ == "__main__":
    main()
