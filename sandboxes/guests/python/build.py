#!/usr/bin/env python3
"""Builds the images in which Python programs are graded: `python.wasm`, and with `--image` another
one of `images.py`.

This file owns the order of the stages and the layout of the cache. Each stage is a module:
`sources` and `packages` (downloads), `toolchain` (the compiler), `cpython`, `extensions` and
`numpy_build` (compiled files), `stdlib` (frozen modules). The result is
`CACHE/python/RECIPE/IMAGE.wasm`, where RECIPE is the hash of this folder and of the toolchain. Its
path is the only line on standard output.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "toolchain"))

import cpython  # noqa: E402
import extensions  # noqa: E402
import images  # noqa: E402
import numpy_build  # noqa: E402
import numpy_sources  # noqa: E402
import packages  # noqa: E402
import recipe  # noqa: E402
import sources  # noqa: E402
import stdlib  # noqa: E402
import toolchain  # noqa: E402


def build(image, cache, jobs, result):
    """Builds `result`. The path appears atomically when the image is complete."""
    downloads = cache / "downloads"
    home = result.parent.parent
    for abandoned in list(home.glob("building-*")) + list(home.glob("source/unpacking-*")):
        shutil.rmtree(abandoned, ignore_errors=True)
    zig = toolchain.install(cache, downloads)
    tree = sources.unpack(home, downloads)
    scratch = Path(tempfile.mkdtemp(prefix="building-", dir=home))
    try:
        steps = toolchain.Steps(home / "steps", zig, tree, HERE / "c", jobs, sources.inputs_of)
        freezer = cpython.build_freezer(steps, scratch)
        modules, addition = parts_of(image, steps, home, downloads)
        table = stdlib.freeze(steps, freezer, stdlib.chosen(tree, HERE) + modules, scratch)
        linked = scratch / "image" / result.name
        cpython.link_image(steps, table, scratch, linked, addition)
        result.parent.mkdir(exist_ok=True)
        os.rename(linked, result)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def parts_of(image, steps, home, downloads):
    """The modules of an image's packages, and what is linked in addition to CPython."""
    modules, objects, starts = [], [], {}
    for package in image.packages:
        modules += packages.modules(package, packages.unpack(package, home, downloads))
    for extension in image.extensions:
        folder = extensions.unpack(extension, home, downloads)
        modules += packages.modules(extension.package, folder)
        objects += extensions.objects(steps, extension, folder)
        starts.update(extensions.starts(extension))
    if image.numpy:
        tree = numpy_sources.unpack(home, downloads)
        modules += packages.modules(packages.NUMPY, tree / "numpy")
        objects += numpy_build.objects(steps, tree, HERE / "c_numpy")
        starts.update(numpy_build.MODULES)
    return modules, cpython.Addition(
        objects=tuple(objects),
        modules=starts,
        initial_memory=image.initial_memory,
        compiler="c++" if image.numpy else "cc",
    )


def main():
    options = recipe.arguments(
        "Build the Python guest image and print its path.",
        [image.name for image in images.IMAGES],
    )
    cache = options.cache.expanduser().resolve()
    home = cache / "python"
    image = images.named(options.image)
    result = home / recipe.hash_of_folders(HERE) / f"{image.name}.wasm"
    try:
        if not result.exists():
            with recipe.locked(home):
                if not result.exists():
                    build(image, cache, options.jobs, result)
    except (sources.Unavailable, toolchain.Failed, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"build.py: {error}")
    print(result)


if __name__ == "__main__":
    main()
