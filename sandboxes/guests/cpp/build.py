#!/usr/bin/env python3
"""Builds the guest in which C and C++ programs are compiled and graded: a folder with the compiler,
the headers and the library, which `manifest.json` describes.

The result is `CACHE/cpp/RECIPE/cpp`, where RECIPE is the hash of this folder and of the toolchain.
Its path is the only line on standard output.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "toolchain"))

import commands  # noqa: E402
import compilation  # noqa: E402
import declared  # noqa: E402
import downloads  # noqa: E402
import libc  # noqa: E402
import libcxx  # noqa: E402
import libm  # noqa: E402
import library  # noqa: E402
import mains  # noqa: E402
import recipe  # noqa: E402
import sources  # noqa: E402
import sysroot  # noqa: E402
import toolchain  # noqa: E402


def build(cache, jobs, result):
    """Builds `result`. The path appears atomically when the folder is complete."""
    home = result.parent.parent
    for abandoned in list(home.glob("building-*")) + list(home.glob("source/unpacking-*")):
        shutil.rmtree(abandoned, ignore_errors=True)
    zig = toolchain.install(cache, cache / "downloads")
    tree = sources.unpack(home, zig, cache / "downloads")
    scratch = Path(tempfile.mkdtemp(prefix="building-", dir=home))
    try:
        folder = scratch / "result"
        folder.mkdir()
        steps = compilation.Compilation(
            home / "steps", zig, tree, HERE / "c", jobs, sources.inputs_of
        )
        built = library.build(steps, compile_all(steps, tree, scratch), scratch)
        compiler_headers = sources.unpack_compiler(cache / "downloads", folder / "compiler.wasm")
        files = sysroot.headers(tree, compiler_headers)
        files["library.o"] = built.addresses
        files["start.o"] = built.start
        files["calls.o"] = built.start_with_calls
        files["functions.txt"] = built.functions.encode()
        callers = mains.objects(steps)
        names = {key: f"main{number}.o" for number, key in enumerate(sorted(callers))}
        files.update({name: callers[key] for key, name in names.items()})
        (folder / "sysroot.tar").write_bytes(sysroot.archive(files))
        (folder / "library.wasm").write_bytes(built.module)
        text = json.dumps(manifest(folder, built, names), indent=2, sort_keys=True)
        (folder / "manifest.json").write_text(text + "\n")
        for path in folder.iterdir():
            path.chmod(0o644)
        result.parent.mkdir(exist_ok=True)
        os.rename(folder, result)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def compile_all(steps, tree, scratch):
    """The objects of all libraries."""
    downloads.say("compiling the libraries")
    units = libc.units(tree) + libcxx.units(tree)
    objects = libm.objects(steps, ("clang", *libc.TARGET, *libc.PUBLIC), libm.ALL)
    objects += steps.each(lambda unit: steps.clang(unit, libc.TARGET), units)
    return objects + [steps.zig_object(name, scratch) for name in ("c.zig", "compiler_rt.zig")]


def manifest(folder, built, callers):
    """What the host needs to know, and the hashes of the files. `callers` are the names of the
    objects for unusual types of `main`.
    """
    return {
        "files": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.iterdir())
        },
        "versions": {
            sources.COMPILER: sources.COMPILER_VERSION,
            "ziglang": downloads.ZIG,
        },
        "sysroot": sysroot.ROOT,
        "commands": {
            **commands.COMMANDS,
            "link": commands.link(built.table_base, built.global_base),
        },
        "standards": commands.STANDARDS,
        "default_standards": commands.DEFAULTS,
        "refused_imports": commands.REFUSED,
        "declaring": declared.table(),
        "standard_headers": declared.STANDARD,
        "main_callers": {key: f"{sysroot.ROOT}/{name}" for key, name in callers.items()},
        "memory": {
            "stack_bytes": library.STACK_BYTES,
            "global_base": built.global_base,
            "table_base": built.table_base,
        },
    }


def main():
    options = recipe.arguments("Build the C and C++ guest and print its path.", ["cpp"])
    cache = options.cache.expanduser().resolve()
    home = cache / "cpp"
    result = home / recipe.hash_of_folders(HERE) / "cpp"
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
