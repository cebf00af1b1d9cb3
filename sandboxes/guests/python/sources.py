"""The sources of the image: pins, substitutions, and the unpacked source tree. `downloads.py` of
the toolchain downloads them. Compiles nothing.
"""

import hashlib

import downloads as fetching
import glibc
from downloads import (  # noqa: F401, used by the other modules as part of this one
    ZIG,
    Archive,
    Place,
    Unavailable,
    digest_of,
    host,
    say,
    substitute,
)
from substitutions import LINUX, Substitution

PYTHON = "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640"
BZIP2 = "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269"
XZ = "0b54f79df85912504de0b14aec7971e3f964491af1812d83447005807513cd9e"

ARCHIVES = (
    Archive(
        "cpython",
        (
            Place("pool/main/p/python3.13/python3.13_3.13.5.orig.tar.xz", PYTHON),
            Place("https://www.python.org/ftp/python/3.13.5/Python-3.13.5.tar.xz", PYTHON),
        ),
        unused=(
            "Doc",
            "Lib/idlelib",
            "Lib/test",
            "Lib/tkinter",
            "Mac",
            "Misc",
            "PC",
            "PCbuild",
            "Tools",
        ),
    ),
    Archive(
        # Debian's archive lacks parts of contrib/. The files that are compiled here are equal in
        # both.
        "zlib",
        (
            Place(
                "pool/main/z/zlib/zlib_1.3.dfsg+really1.3.1.orig.tar.gz",
                "60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb",
            ),
            Place(
                "https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz",
                "9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23",
            ),
        ),
        unused=("contrib", "doc", "test", "examples"),
    ),
    Archive(
        "bzip2",
        (
            Place("pool/main/b/bzip2/bzip2_1.0.8.orig.tar.gz", BZIP2),
            Place("https://sourceware.org/pub/bzip2/bzip2-1.0.8.tar.gz", BZIP2),
        ),
    ),
    Archive(
        "xz",
        (
            Place("pool/main/x/xz-utils/xz-utils_5.8.1.orig.tar.xz", XZ),
            Place(
                "https://github.com/tukaani-project/xz/releases/download/v5.8.1/xz-5.8.1.tar.xz", XZ
            ),
        ),
        unused=("doc", "po", "po4a", "tests"),
    ),
    glibc.ARCHIVE,
)


SUBSTITUTIONS = (
    Substitution(
        "cpython/Include/cpython/pystate.h",
        "the wasm limit assumes a small stack; this one has 32 MiB, and programs recurse through `functools.cache`",
        "#  define Py_C_RECURSION_LIMIT 5000\n",
        "#  define Py_C_RECURSION_LIMIT 40000\n",
    ),
    Substitution(
        "cpython/Lib/asyncio/selector_events.py",
        "WASI has no socket pair; with one thread nothing else could wake the loop",
        "        self._ssock, self._csock = socket.socketpair()\n"
        "        self._ssock.setblocking(False)\n"
        "        self._csock.setblocking(False)\n"
        "        self._internal_fds += 1\n"
        "        self._add_reader(self._ssock.fileno(), self._read_from_self)\n",
        "        self._ssock = self._csock = None\n",
    ),
    Substitution(
        "cpython/Lib/asyncio/selector_events.py",
        "the other half of it",
        "        self._remove_reader(self._ssock.fileno())\n"
        "        self._ssock.close()\n"
        "        self._ssock = None\n"
        "        self._csock.close()\n"
        "        self._csock = None\n"
        "        self._internal_fds -= 1\n",
        "        pass\n",
    ),
) + glibc.SUBSTITUTIONS + LINUX


def inputs_of(source):
    """Hash of everything in the tree on which an object depends: the archives, and changes of
    headers and of its own C file. Changes of other C files and of Python files do not affect it.
    """
    changes = [
        change
        for change in SUBSTITUTIONS
        if change.path == source or not change.path.endswith((".c", ".py"))
    ]
    return hashlib.sha256(repr((ARCHIVES, changes)).encode()).hexdigest()[:24]


def tree_hash():
    """Hash of the unpacked tree: the hashes of the archives and the substitutions."""
    return hashlib.sha256(repr((ARCHIVES, SUBSTITUTIONS)).encode()).hexdigest()[:24]


def unpack(home, downloads):
    """Returns the source tree, with one folder for each archive."""
    tree = home / "source" / tree_hash()
    fetching.unpack(tree, ARCHIVES, SUBSTITUTIONS, downloads)
    return tree
