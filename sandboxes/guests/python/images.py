"""The images that this folder builds: the same interpreter with different packages."""

from typing import NamedTuple, Tuple

import cpython
import packages
from packages import Package


class Image(NamedTuple):
    """An image. `numpy` adds numpy, which is compiled; `packages` contain only Python code."""

    name: str
    packages: Tuple[Package, ...]
    numpy: bool = False
    initial_memory: int = cpython.INITIAL_MEMORY_BYTES


PURE = (packages.MORE_ITERTOOLS, packages.SORTEDCONTAINERS, packages.TOOLZ)

IMAGES = (
    Image("python", PURE),
    Image(
        "python-scientific",
        PURE + (packages.MPMATH, packages.NETWORKX, packages.SYMPY),
        numpy=True,
        initial_memory=136 << 20,
    ),
)


def named(name):
    return next(image for image in IMAGES if image.name == name)
