"""The images that this folder builds: the same interpreter with different packages."""

from typing import NamedTuple, Tuple

import cpython
import extensions
import packages
from extensions import Extension
from packages import Package


class Image(NamedTuple):
    """An image. `packages` contain only Python code; `extensions` and numpy are compiled."""

    name: str
    packages: Tuple[Package, ...]
    extensions: Tuple[Extension, ...] = ()
    numpy: bool = False
    initial_memory: int = cpython.INITIAL_MEMORY_BYTES


PURE = (packages.MORE_ITERTOOLS, packages.SORTEDCONTAINERS, packages.TOOLZ)

IMAGES = (
    Image("python", PURE),
    Image(
        "python-scientific",
        PURE
        + (packages.MPMATH, packages.NETWORKX, packages.PYTEST, packages.SYMPY)
        + packages.PYTEST_PARTS,
        extensions=(extensions.BITARRAY, extensions.REGEX),
        numpy=True,
        initial_memory=136 << 20,
    ),
)


def named(name):
    return next(image for image in IMAGES if image.name == name)
