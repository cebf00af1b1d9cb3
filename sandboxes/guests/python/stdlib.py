"""Selects the modules of the standard library, and freezes modules.

Every module is compiled once by CPython of the same version and stored as marshalled code in the
data of the image, so an import reads memory and no file. This file owns the selection of modules
and the table of frozen modules.
"""

import hashlib
import subprocess
from pathlib import Path

import cpython
import sources
from toolchain import Failed, hash_of

# Omitted modules with the reason: a missing feature of the system, or no use in a sandbox.
LEFT_OUT = {
    "antigravity": "opens a browser",
    "ctypes": "no foreign function interface in wasm",
    "curses": "no terminal",
    "dbm.gnu": "no such library",
    "dbm.ndbm": "no such library",
    "dbm.sqlite3": "no sqlite3",
    "encodings.mbcs": "Windows",
    "encodings.oem": "Windows",
    "ensurepip": "installs packages",
    "idlelib": "an editor",
    "msilib": "Windows",
    "pty": "no terminal",
    "pydoc_data": "texts of `help()`",
    "site-packages": "not a module",
    "sqlite3": "no such library",
    "test": "CPython's own tests",
    "tkinter": "no display",
    "turtle": "no display",
    "turtledemo": "no display",
    "venv": "installs packages",
    "_aix_support": "another platform",
    "_android_support": "another platform",
    "_apple_support": "another platform",
    "_ios_support": "another platform",
    "_osx_support": "another platform",
    "__hello__": "an example",
    "__phello__": "an example",
}

# The import system, under the names by which the core finds its modules.
BOOTSTRAP = {
    "importlib._bootstrap": "_frozen_importlib",
    "importlib._bootstrap_external": "_frozen_importlib_external",
    "zipimport": "zipimport",
}

ALIASES = {
    "_frozen_importlib": "importlib._bootstrap",
    "_frozen_importlib_external": "importlib._bootstrap_external",
    "os.path": "posixpath",
}


class Module:
    """A module's dotted name, its file, and whether it is a package."""

    def __init__(self, root, path, prefix=""):
        parts = path.relative_to(root).with_suffix("").parts
        self.package = parts[-1] == "__init__"
        names = parts[:-1] if self.package else parts
        self.name = ".".join(([prefix] if prefix else []) + list(names))
        self.path = path


def left_out(name):
    parts = name.split(".")
    return any(".".join(parts[: depth + 1]) in LEFT_OUT for depth in range(len(parts)))


def modules_under(root, prefix=""):
    """The modules of a folder, sorted by name."""
    found = [Module(root, path, prefix) for path in root.rglob("*.py")]
    kept = [
        module
        for module in found
        if module.name and "__pycache__" not in module.path.parts and not left_out(module.name)
    ]
    return sorted(kept, key=lambda module: module.name)


def chosen(tree, here):
    """The library, the additions in `extra/`, and the driver as `_assay`."""
    return (
        modules_under(tree / "cpython" / "Lib")
        + modules_under(here / "extra")
        + modules_under(here / "driver", "_assay")
    )


def freeze_one(steps, freezer, module):
    tool, tool_key = freezer
    content = module.path.read_bytes()
    key = hash_of(tool_key, module.name, content)

    def make(out):
        command = [str(tool), module.name, str(module.path), str(out)]
        done = subprocess.run(
            command,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode != 0:
            raise Failed(
                f"freezing {module.name} failed:\n{done.stdout.decode('utf-8', 'replace').strip()}"
            )

    return steps.kept(key, ".marshal", make).read_bytes()


def freeze(steps, freezer, modules, scratch):
    """Builds the object with the frozen modules and their table."""
    sources.say(f"freezing {len(modules)} modules")
    codes = steps.each(lambda module: freeze_one(steps, freezer, module), modules)
    (scratch / "modules.bin").write_bytes(b"".join(codes))
    text = table(modules, [len(code) for code in codes])
    digest = hashlib.sha256(b"".join(codes)).digest()
    return cpython.generated(steps, text, scratch, "frozen.c", digest)


def table(modules, sizes):
    """The C file that replaces CPython's `Python/frozen.c`."""
    bootstrap, library, offset = [], [], 0
    for module, size in zip(modules, sizes):
        name = BOOTSTRAP.get(module.name, module.name)
        row = f'    {{"{name}", code + {offset}, {size}, {"true" if module.package else "false"}}},'
        (bootstrap if module.name in BOOTSTRAP else library).append(row)
        offset += size
    return TABLE.format(
        bootstrap="\n".join(bootstrap),
        library="\n".join(library),
        aliases="\n".join(
            f'    {{"{alias}", "{name}"}},' for alias, name in sorted(ALIASES.items())
        ),
    )


TABLE = """\
#include "Python.h"
#include "pycore_import.h"
#include <stdbool.h>

static const unsigned char code[] = {{
#embed "modules.bin"
}};

static const struct _frozen bootstrap[] = {{
{bootstrap}
    {{0, 0, 0}},
}};

static const struct _frozen library[] = {{
{library}
    {{0, 0, 0}},
}};

static const struct _frozen none[] = {{{{0, 0, 0}}}};

static const struct _module_alias aliases[] = {{
{aliases}
    {{0, 0}},
}};

const struct _frozen *_PyImport_FrozenBootstrap = bootstrap;
const struct _frozen *_PyImport_FrozenStdlib = library;
const struct _frozen *_PyImport_FrozenTest = none;
const struct _frozen *PyImport_FrozenModules = NULL;
const struct _module_alias *_PyImport_FrozenAliases = aliases;
"""
