"""The packages in the image, and how their values are sent. Those of numpy are in `arrays.py`.

In a returned value, a sorted list is a list and an array of bits is the list of its bits. Between
instances, an array of bits is copied with its type.
"""

from . import isolation

isolation.own_builtins(globals())

import _imp  # noqa: E402

from . import containers, failures, values  # noqa: E402

_FROZEN = frozenset(name.partition(".")[0] for name in _imp._frozen_module_names())

# The packages of this image.
NAMES = _FROZEN & frozenset(
    """
    bitarray more_itertools mpmath networkx numpy pytest regex sortedcontainers sympy toolz
    """.split()
)

# Names by which tests use a package without importing it.
ALIASES = {"np": "numpy", "nx": "networkx"} | {name: name for name in NAMES}

# Submodules whose exceptions a test may expect.
_EXCEPTIONS = {"networkx": ("networkx.exception",), "regex": ("regex._regex_core",)}


def install():
    """Prepares the driver for values of the packages in this image."""
    values.LIBRARY.update(NAMES)
    for name in NAMES & _EXCEPTIONS.keys():
        failures.EXCEPTIONS.update(_EXCEPTIONS[name])
    if "sortedcontainers" in NAMES:
        import sortedcontainers

        values.INSIDE[sortedcontainers.SortedList] = list
        values.INSIDE[sortedcontainers.SortedSet] = set
    if "bitarray" in NAMES:
        _install_bits()
    if "numpy" in NAMES:
        from . import arrays

        arrays.install()


def _install_bits():
    import bitarray

    base, frozen = bitarray.bitarray, bitarray.frozenbitarray

    def state(bits):
        return [base.endian.__get__(bits), base.to01(bits)]

    def pack_frozen(packer, bits, depth):
        packer.spend(len(bits) // 64)
        if packer.shared is None:
            return packer.pack(base.tolist(bits), depth)
        return {"$": "frozenbitarray", "v": state(bits)}

    values.INSIDE[base] = base.tolist
    values.FOREIGN[frozen] = pack_frozen
    values.READERS["frozenbitarray"] = lambda _, packed: frozen(packed["v"][1], packed["v"][0])
    containers.KINDS[base] = containers.BY_TAG["bitarray"] = _bits(base, state)


def _bits(base, state):
    """Arrays of bits, which are sent as text."""

    def pack(packer, bits, depth):
        packer.spend(len(bits) // 64)
        return {"$": "bitarray", "v": state(bits)}

    def new(packed):
        return base(packed["v"][1], packed["v"][0])

    def fill(unpacker, bits, packed):
        base.__setitem__(bits, slice(None), new(packed))

    def same(bits, before):
        return state(bits) == before

    return containers.Kind(base, "bitarray", state, same, pack, fill, new)
