"""Values of numpy: arrays, numbers, types, and the state of its global random generator.

In a returned value, an array is the list of its elements and a number is a Python number. Between
instances, arrays of numbers, text and times are copied with their type, and are containers that
both instances share. The receiver builds its own array from the data alone, so the program cannot
send the test an object with its own methods as an array. Arrays of classes
derived from numpy's are objects of the program.
"""

from . import isolation

isolation.own_builtins(globals())

import binascii  # noqa: E402
import math  # noqa: E402

from . import containers, failures, state, values  # noqa: E402

# Submodules whose exceptions a test may expect.
_EXCEPTIONS = ("numpy.exceptions", "numpy.linalg")

# Kinds of types that are copied: boolean, integers, floats, complex numbers, times, text, bytes.
_COPIED = frozenset("biufcmMSU")

_LAST_CODE_POINT = 0x10FFFF


def install():
    """Prepares the driver for values of numpy."""
    global np
    import numpy as np

    failures.EXCEPTIONS.update(_EXCEPTIONS)
    values.FOREIGN[np.ndarray] = _pack_array
    values.INSIDE[np.ndarray] = _elements
    for kind in set(np.sctypeDict.values()):
        values.FOREIGN[kind] = _pack_scalar
        if not issubclass(kind, values.BASES):
            values.INSIDE[kind] = _number
    for kind in vars(np.dtypes).values():
        if isinstance(kind, type) and issubclass(kind, np.dtype):
            values.FOREIGN[kind] = _pack_type
    values.READERS.update(scalar=_read_scalar, dtype=_read_type)
    containers.BY_TAG["ndarray"] = ARRAY
    values.NAMED_KINDS.update((np.ufunc, type(np.sum)))
    state.GENERATORS["numpy.random"] = (np.random, _generator_state, _set_generator_state)


# The global random generator.


def _generator_state():
    name, words, *rest = np.random.get_state()
    return [name, np.ndarray.tolist(words), *rest]


def _set_generator_state(value):
    np.random.set_state(tuple(value))


# Returned values.


class _Unequal:
    """A value that is equal to nothing: `NaT`, or one without a plain form."""


def _number(scalar):
    """The Python value of a numpy scalar."""
    if isinstance(scalar, np.longdouble):
        return float(scalar)
    if isinstance(scalar, np.clongdouble):
        return complex(scalar)
    if isinstance(scalar, (np.datetime64, np.timedelta64)) and np.isnat(scalar):
        return _Unequal()
    value = np.generic.item(scalar)
    # Times outside the range of `datetime` are integers; values of numpy's void type are tuples.
    return value if not isinstance(value, np.generic) else _Unequal()


def _elements(array):
    """The elements of an array as nested lists, or its value if it has no dimensions."""
    kind = array.dtype.kind
    if kind in "mM" and np.isnat(np.asarray(array)).any():
        return _Unequal()
    if kind in "fc" and array.dtype.itemsize > (8 if kind == "f" else 16):
        array = np.asarray(array).astype(np.float64 if kind == "f" else np.complex128)
    return np.ndarray.tolist(array)


def _count(array):
    """Number of elements, without creating them: a broadcast array can have very many."""
    return math.prod(np.ndarray.__dict__["shape"].__get__(array))


# Between instances, and in returned values.


def _is_copied(kind):
    return kind.kind in _COPIED and kind.names is None and kind.subdtype is None


def _pack_array(packer, array, depth):
    packer.spend(_count(array))
    if packer.shared is None:
        return packer.pack(_elements(array), depth)
    if _is_copied(array.dtype) or array.dtype.kind == "O":
        return packer.container(array, ARRAY, depth)
    return packer.export(packer, array, depth)


def _pack_scalar(packer, scalar, depth):
    if packer.shared is None:
        return packer.pack(_number(scalar), depth)
    if not _is_copied(scalar.dtype):
        return packer.export(packer, scalar, depth)
    return {"$": "scalar", "v": [scalar.dtype.str, _text(scalar.tobytes())]}


def _pack_type(packer, kind, depth):
    if packer.shared is None or not _is_copied(kind):
        return packer.export(packer, kind, depth)
    return {"$": "dtype", "v": kind.str}


def _text(data):
    return binascii.b2a_base64(data, newline=False).decode()


def _read_type(unpacker, packed):
    return _type(packed["v"])


def _type(text):
    """The type with this name. Only types for which any bytes are valid data are accepted."""
    kind = np.dtype(text) if type(text) is str else None
    if kind is None or not _is_copied(kind) or kind.itemsize == 0 and kind.kind not in "SU":
        raise ValueError("not a type of plain data")
    return kind


def _read_scalar(unpacker, packed):
    text, data = packed["v"]
    return _array_of(_type(text), [1], data)[0]


def _array_of(kind, shape, data):
    """A new array from its data, whatever the sender claims about it."""
    data = binascii.a2b_base64(data)
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("not a shape")
    if len(data) != math.prod(shape) * kind.itemsize:
        raise ValueError("the data does not have the size of the array")
    if kind.itemsize == 0:
        return np.zeros(shape, kind)
    if kind.kind == "b":
        # Any other byte would be neither true nor false.
        return (np.frombuffer(data, np.uint8) != 0).reshape(shape)
    array = np.frombuffer(data, kind)
    if kind.kind == "U":
        points = array.astype(kind.newbyteorder("=")).view(np.uint32)
        if points.size and points.max() > _LAST_CODE_POINT:
            raise ValueError("not a text")
    return array.reshape(shape).copy()


def _pack_content(packer, array, depth):
    kind, shape = array.dtype, list(array.shape)
    if kind.kind == "O":
        elements = packer.sequence(list(array.flat), depth)
        return {"$": "ndarray", "v": ["O", shape, elements]}
    packer.spend(array.nbytes // 64)
    return {"$": "ndarray", "v": [kind.str, shape, _text(array.tobytes())]}


def _new_array(packed):
    kind, shape, content = packed["v"]
    if kind != "O":
        return _array_of(_type(kind), shape, content)
    if type(content) is not list or math.prod(shape) != len(content):
        raise ValueError("the elements do not fill the array")
    return np.empty(shape, object)


def _fill_array(unpacker, array, packed):
    kind, shape, content = packed["v"]
    if tuple(shape) != array.shape or (kind != "O") != (array.dtype.kind != "O"):
        raise ValueError("the shape or type of an array that a call passes cannot change")
    if kind == "O":
        elements = list(map(unpacker.unpack, content))
        for at, element in enumerate(elements):
            array.flat[at] = element
        return
    new = _array_of(_type(kind), shape, content)
    if new.dtype != array.dtype:
        raise ValueError("the type of an array that a call passes cannot change")
    if new.tobytes() != array.tobytes():
        np.copyto(array, new)


def _copy(array):
    if array.dtype.kind == "O":
        return list(array.flat)
    return (array.dtype.str, array.shape, array.tobytes())


def _is_same(array, before):
    if array.dtype.kind != "O":
        return _copy(array) == before
    now = list(array.flat)
    return (
        type(before) is list
        and len(now) == len(before)
        and all(map(lambda one, other: one is other, now, before))
    )


ARRAY = containers.Kind(
    None,
    "ndarray",
    _copy,
    _is_same,
    _pack_content,
    _fill_array,
    _new_array,
    size=lambda array: array.nbytes // 64 if array.dtype.kind != "O" else array.size,
)
