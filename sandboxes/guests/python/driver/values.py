"""Values as JSON, and back: the form in which arguments and results are sent.

None, booleans, strings, finite floats and small integers are JSON values; a list is an array.
Everything else is an object with a `$` that names its kind and a `v`:

    int      beyond 64 bits, in hexadecimal      float    "inf", "-inf" or "nan"
    str      with surrogates: code points        bytes    one character a byte
    complex  real and imaginary part             tuple, frozenset, range, slice: as their parts
    set, bytearray, deque: as their elements     dict, Counter, OrderedDict, defaultdict: pairs
    made     [name, arguments] of a class in `MADE`
    ndarray, scalar, dtype: of numpy, as in `packages.py`
    same     number of a container that both instances have, or that occurred before

Messages between instances also use the kinds of `containers.KINDS`, `const` (the objects of
`_CONSTANTS`), and the kinds that the two ends of a connection define (`remote.py`).

Mutable containers are numbered in the order in which they occur, each before its content, so that
sharing, cycles and changes are preserved.
"""

from . import isolation

isolation.own_builtins(globals())

import dataclasses  # noqa: E402
import datetime  # noqa: E402
import decimal  # noqa: E402
import fractions  # noqa: E402
import math  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402
import typing  # noqa: E402

from . import containers  # noqa: E402

# Values nested deeper than this are sent as the name of their class only.
DEPTH = 200

SMALL = 1 << 63

# Builtin classes of plain values, each before those it derives from.
BASES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)

_finite = math.isfinite


def _reduced(value):
    return list(value.__reduce__()[1])


# Standard classes that the receiver constructs again: class -> function that gives the arguments.
MADE = {
    fractions.Fraction: lambda value: [value.numerator, value.denominator],
    decimal.Decimal: lambda value: [str(value)],
    datetime.date: _reduced,
    datetime.datetime: _reduced,
    datetime.time: _reduced,
    datetime.timedelta: _reduced,
    datetime.timezone: _reduced,
}
_MADE_BY_NAME = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in MADE}
# Values of packages (`packages.py`). Class -> function that packs its instances; class -> function
# that gives the plain value inside instances of it and of derived classes; tag -> function that
# reads what was packed.
FOREIGN, INSIDE, READERS = {}, {}, {}

# Objects of which there is one, by name. Those of `dataclasses` mark fields and missing defaults.
_CONSTANTS = {
    "NotImplemented": NotImplemented,
    "Ellipsis": Ellipsis,
    "MISSING": dataclasses.MISSING,
    "FIELD": dataclasses._FIELD,
    "FIELD_CLASSVAR": dataclasses._FIELD_CLASSVAR,
    "FIELD_INITVAR": dataclasses._FIELD_INITVAR,
}
_NAMES = {id(constant): name for name, constant in _CONSTANTS.items()}


def is_flat(value):
    """Whether a value is sent as it is."""
    kind = type(value)
    if kind is int:
        return -SMALL <= value < SMALL
    if kind is str:
        return value.isascii() and len(value) < 1_000_000
    return value is None or kind is bool or kind is float and _finite(value)


class TooLong(Exception):
    """The value has more parts than may be sent."""


class Packer:
    """Writes values. `shared` is the table of containers that the other instance has; without it
    only plain data is written.
    """

    def __init__(self, export, room, shared=None):
        self.export = export
        self.room = room
        self.shared = shared
        self.kinds = containers.PLAIN if shared is None else containers.KINDS
        self.next, self.step = (0, 1) if shared is None else (shared.next, 2)
        # Containers are kept alive here, because Python may reuse the identity of a freed object.
        self.containers, self.numbers = [], {}
        # Numbers of all containers that have occurred.
        self.seen = set()

    def pack(self, value, depth=0):
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -SMALL <= value < SMALL else {"$": "int", "v": hex(value)}
        if kind is str:
            return self._text(value)
        if kind is float:
            return value if _finite(value) else {"$": "float", "v": repr(value)}
        if depth > DEPTH:
            return {"$": "deep", "v": kind.__name__}
        self.spend(1)
        if kind in self.kinds:
            return self.container(value, self.kinds[kind], depth)
        if kind is tuple:
            return {"$": "tuple", "v": self.sequence(value, depth)}
        if kind is frozenset:
            return {"$": "frozenset", "v": self.sequence(containers.in_order(value), depth)}
        if kind is bytes:
            return self.bytes("bytes", value)
        if kind is complex:
            return {"$": "complex", "v": [self.pack(value.real), self.pack(value.imag)]}
        if kind in (range, slice):
            parts = [self.pack(part, depth + 1) for part in (value.start, value.stop, value.step)]
            return {"$": kind.__name__, "v": parts}
        if kind in MADE:
            return self.made(f"{kind.__module__}.{kind.__qualname__}", MADE[kind](value), depth)
        if kind in FOREIGN:
            return FOREIGN[kind](self, value, depth)
        if self.shared is not None and id(value) in _NAMES:
            return {"$": "const", "v": _NAMES[id(value)]}
        return self.export(self, value, depth)

    def made(self, name, arguments, depth):
        """A value that the receiver constructs from arguments."""
        packed = [self.pack(argument, depth + 1) for argument in arguments]
        return {"$": "made", "v": [name, {"$": "tuple", "v": packed}]}

    def container(self, value, kind, depth):
        """A container: its number if the other side has it, otherwise its content."""
        number = self.numbers.get(id(value))
        if number is None and self.shared is not None:
            number = self.shared.numbers.get(id(value))
        if number is not None:
            self.seen.add(number)
            return {"$": "same", "v": number}
        number = self.numbers[id(value)] = self.next
        self.next += self.step
        self.seen.add(number)
        self.containers.append((number, value, kind))
        return kind.pack(self, value, depth)

    def plain(self, value, depth=0):
        """A value of a class derived from a builtin one, as that builtin, or `None` if there is no
        such builtin.
        """
        for base in BASES:
            if isinstance(value, base):
                return self.pack(base_value(base, value), depth + 1)
        for base, inside in INSIDE.items():
            if isinstance(value, base):
                return self.pack(inside(value), depth + 1)
        return None

    def spend(self, parts):
        """Counts parts of the message, before they are created."""
        self.room -= parts
        if self.room < 0:
            raise TooLong

    def _text(self, value):
        self.spend(len(value) // 64)
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"$": "str", "v": [ord(character) for character in value]}
        return value

    def bytes(self, tag, value):
        self.spend(len(value) // 64)
        return {"$": tag, "v": bytes(value).decode("latin-1")}

    def sequence(self, value, depth):
        self.spend(len(value))
        kinds = set(map(type, value))
        if kinds == {int} and -SMALL <= min(value) and max(value) < SMALL:
            return list(value)
        if kinds == {float} and all(map(_finite, value)):
            return list(value)
        return [self.pack(element, depth + 1) for element in value]

    def pairs(self, value, depth):
        self.spend(len(value))
        return [
            [self.pack(key, depth + 1), self.pack(held, depth + 1)]
            for key, held in dict.items(value)
        ]


def base_value(base, value):
    """The builtin value inside a value of a derived class, read with the builtin's own methods."""
    if base is int:
        return int.__add__(value, 0)
    if base is float:
        return float.__add__(value, 0.0) if value == value else float("nan")
    if base is str:
        return str.__str__(value) if type(value) is str else "".join(str.__iter__(value))
    if base is dict:
        return dict(dict.items(value))
    if base is complex:
        return complex.__add__(value, 0)
    return base(base.__iter__(value))


class Unpacker:
    """Reads values. `reference` reads what is not plain data; `shared` is the table of containers
    of earlier messages.
    """

    def __init__(self, reference, shared=None, first=0):
        self.reference = reference
        self.shared = shared
        self.next, self.step = first, 1 if shared is None else 2
        # Containers of this message, by number.
        self.containers = {}
        self.seen = set()

    def unpack(self, packed):
        kind = type(packed)
        if kind is list:
            return self.container(containers.KINDS[list], packed)
        if kind is not dict:
            return packed
        tag, value = packed["$"], packed["v"]
        if tag == "tuple":
            return tuple(map(self.unpack, value))
        if tag == "same":
            return self._known(value)
        if tag == "frozenset":
            return frozenset(map(self.unpack, value))
        if tag == "bytes":
            return value.encode("latin-1")
        if tag == "int":
            return int(value, 16)
        if tag == "float":
            return float(value)
        if tag == "str":
            return "".join(map(chr, value))
        if tag == "complex":
            return complex(*map(self.unpack, value))
        if tag == "range":
            return range(*map(self.unpack, value))
        if tag == "slice":
            return slice(*map(self.unpack, value))
        if tag == "const":
            return _CONSTANTS[value]
        if tag == "made" and value[0] in _MADE_BY_NAME:
            return _MADE_BY_NAME[value[0]](*self.unpack(value[1]))
        if tag in READERS:
            return READERS[tag](self, packed)
        if tag in containers.BY_TAG and tag is not None:
            return self.container(containers.BY_TAG[tag], packed)
        return self.reference(self, packed)

    def container(self, kind, packed, container=None):
        """A container with its content. If `container` is given, it is filled instead of a new
        one.
        """
        container = kind.new(packed) if container is None else container
        self.containers[self.next] = (container, kind)
        self.seen.add(self.next)
        self.next += self.step
        kind.fill(self, container, packed)
        return container

    def refill(self, container, kind, packed):
        """Gives a container new content, which must be of its kind."""
        tag = packed["$"] if type(packed) is dict else None
        if tag != kind.tag:
            raise ValueError(
                f"a container of kind `{kind.tag}` cannot have content of kind `{tag}`"
            )
        kind.fill(self, container, packed)

    def _known(self, number):
        self.seen.add(number)
        if number in self.containers:
            return self.containers[number][0]
        return self.shared.entries[number][0]


def standard(module, name):
    """An object of the standard library or a package, from this instance's own copy."""
    if module.partition(".")[0] not in LIBRARY:
        raise ImportError(f"`{module}` is not a module of the standard library")
    thing = __import__(module, fromlist=["_"])
    for part in name.split(".") if name else ():
        thing = getattr(thing, part)
    return thing


# Top-level modules of the image.
LIBRARY = set(sys.stdlib_module_names | {"builtins"})
# Classes of functions in packages.
NAMED_KINDS = set()
_NAMED = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)


def standard_name(value):
    """Module and name by which an object of the library or a package can be found, or `None` for
    other objects.
    """
    kind = type(value)
    if kind is types.ModuleType:
        name = getattr(value, "__name__", None)
        known = type(name) is str and name.partition(".")[0] in LIBRARY
        return [name, ""] if known and sys.modules.get(name) is value else None
    if kind in NAMED_KINDS:
        module = getattr(value, "__module__", None) or "numpy"
    elif issubclass(kind, _NAMED) or kind.__module__ in ("typing", "functools", "operator"):
        module = getattr(value, "__module__", None)
    else:
        return None
    if kind is types.MethodDescriptorType or kind is types.WrapperDescriptorType:
        module = value.__objclass__.__module__
    if type(module) is not str or module.partition(".")[0] not in LIBRARY:
        return None
    for attribute in ("__qualname__", "__name__", "_name"):
        # Methods of hidden objects, such as `random.seed`, are found by their plain name.
        name = getattr(value, attribute, None)
        if type(name) is not str or "<" in name:
            continue
        try:
            if standard(module, name) is value:
                return [module, name]
        except Exception:
            continue
    return None


_TYPES = {
    getattr(types, name): ["types", name]
    for name in """
        GeneratorType AsyncGeneratorType MethodType BuiltinMethodType FunctionType MappingProxyType
        CodeType FrameType SimpleNamespace
    """.split()
}


def class_name(kind):
    """Module and name by which a class of the library can be found, or `None` for others."""
    return _TYPES.get(kind) or standard_name(kind)


def is_typing_form(thing):
    """Whether this is a `typing` form such as `typing.List`, which is used in annotations and runs
    no code.
    """
    return (
        type(thing).__module__ == "typing"
        and not isinstance(thing, type)
        and getattr(typing, getattr(thing, "_name", None) or "", None) is thing
    )
