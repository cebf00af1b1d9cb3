#!/usr/bin/env python3
"""Builds the image in which JavaScript programs are graded: `javascript.wasm`.

The result is `CACHE/javascript/RECIPE/javascript.wasm`, where RECIPE is the hash of this folder and
of the toolchain. Its path is the only line on standard output.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "toolchain"))

import downloads  # noqa: E402
import quickjs  # noqa: E402
import recipe  # noqa: E402
import toolchain  # noqa: E402

# Folders of scripts: the driver, and the library for programs.
SCRIPTS = ("driver", "node")


def scripts():
    """Names and paths of all scripts, in a fixed order."""
    found = [path for folder in SCRIPTS for path in (HERE / folder).rglob("*.js")]
    return sorted((path.relative_to(HERE).as_posix(), path) for path in found)


def build(cache, jobs, result):
    """Builds `result`. The path appears atomically when the image is complete."""
    home = result.parent.parent
    for abandoned in list(home.glob("building-*")) + list(home.glob("source/unpacking-*")):
        shutil.rmtree(abandoned, ignore_errors=True)
    zig = toolchain.install(cache, cache / "downloads")
    tree = quickjs.unpack(home, cache / "downloads")
    scratch = Path(tempfile.mkdtemp(prefix="building-", dir=home))
    try:
        steps = quickjs.steps_in(home, zig, tree, HERE / "c", jobs)
        linked = scratch / "image" / result.name
        quickjs.link_image(steps, scripts(), scratch, linked)
        result.parent.mkdir(exist_ok=True)
        os.rename(linked, result)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main():
    options = recipe.arguments(
        "Build the JavaScript guest and print its path.", ["javascript"]
    )
    cache = options.cache.expanduser().resolve()
    home = cache / "javascript"
    result = home / recipe.hash_of_folders(HERE) / "javascript.wasm"
    try:
        if not result.exists():
            with recipe.locked(home):
                if not result.exists():
                    build(cache, options.jobs, result)
    except (
        downloads.Unavailable,
        toolchain.Failed,
        OSError,
        subprocess.SubprocessError,
    ) as error:
        sys.exit(f"build.py: {error}")
    print(result)


if __name__ == "__main__":
    main()
