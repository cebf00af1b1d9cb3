"""Packages with few C files, compiled statically into an image.

This file owns their tables, their unpacked sources and the compiler flags. numpy, which has many
files and generates some, is in `numpy_build.py`.
"""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple, Tuple

import packages
import sources
from cpython import OPTIMISE, PYTHON_H
from packages import Package
from toolchain import GUEST, hash_of

BACKEND = "setuptools.build_meta"


class Extension(NamedTuple):
    """A package. `modules` contains the name of each C module, its init function and its files."""

    package: Package
    modules: Tuple[Tuple[str, str, Tuple[str, ...]], ...]


BITARRAY = Extension(
    packages.BITARRAY,
    (
        ("bitarray._bitarray", "PyInit__bitarray", ("bitarray/_bitarray.c",)),
        ("bitarray._util", "PyInit__util", ("bitarray/_util.c",)),
    ),
)
REGEX = Extension(
    packages.REGEX,
    (("regex._regex", "PyInit__regex", ("src/_regex.c", "src/_regex_unicode.c")),),
)


# Functions in tables of methods and attributes.
IN_TABLE = re.compile(r"(\((?:PyCFunction|getter)\)\s*)(\w+)\b")


def with_two_parameters(text):
    """C code in which functions in tables have two parameters, as CPython calls them.

    CPython calls a method without arguments, and a function that reads an attribute, with a second
    argument. Native code ignores it; in wasm, a call with the wrong number of arguments traps.
    """
    for name in sorted({found[2] for found in IN_TABLE.finditer(text)}):
        definition = re.search(rf"\b{name}\((\w+ ?\*) ?\w+\)\s*\{{.*?\n\}}\n", text, re.DOTALL)
        if definition is None:
            continue
        wrapper = (
            f"\nstatic PyObject *\nassay_{name}(PyObject *self, void *ignored)\n"
            f"{{\n    return (PyObject *){name}(({definition[1]})self);\n}}\n"
        )
        text = text[: definition.end()] + wrapper + text[definition.end() :]
        text = re.sub(rf"(\((?:PyCFunction|getter)\)\s*){name}\b", rf"\1assay_{name}", text)
    return text


def with_full_name(text, name):
    """C code in which a module has its full name, by which its functions are pickled. Without a
    file, CPython does not add the name of the package.
    """
    last = re.escape(name.rpartition(".")[2])
    return re.sub(rf'(PyModuleDef_HEAD_INIT,\s*"){last}"', rf'\g<1>{name}"', text)


def unpack(extension, home, downloads):
    """The folder with a package's sources."""
    package = extension.package
    key = hash_of(repr(package), Path(__file__).read_bytes())
    folder = home / "source" / f"{package.name}-{key[:24]}"
    if folder.exists():
        return folder
    archive = packages.fetch_source(package, BACKEND, downloads)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=folder.parent))
    try:
        sources.say(f"unpacking {package.project}")
        packages.unpack_source(archive, partial)
        for path in (partial / package.name).rglob("*.py"):
            packages.spell_out(path)
        for name, _, files in extension.modules:
            for source in files:
                path = partial / source
                text = with_two_parameters(path.read_text(encoding="utf-8"))
                path.write_text(with_full_name(text, name), encoding="utf-8")
        os.rename(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def compile_one(steps, folder, source):
    """Compiles one file with the headers of CPython."""
    flags = list(OPTIMISE + PYTHON_H)
    key = hash_of(
        sources.ZIG,
        sources.inputs_of(""),
        steps.headers,
        json.dumps(flags),
        folder.name,
        source,
    )
    command = [str(steps.zig), "cc", "-target", GUEST, "-c", str(folder / source)]
    command += flags + [f"-I{steps.own}", f"-ffile-prefix-map={folder}=package"]
    command += [f"-ffile-prefix-map={steps.own}=guest"]
    return steps.kept(
        key, ".o", lambda out: steps.run(command + ["-o", str(out)], f"compiling {source}")
    )


def objects(steps, extension, folder):
    """Compiles a package."""
    sources.say(f"compiling {extension.package.project}")
    files = [source for _, _, names in extension.modules for source in names]
    return steps.each(lambda source: compile_one(steps, folder, source), files)


def starts(extension):
    """Rows of the table of built-in modules."""
    return {name: start for name, start, _ in extension.modules}
