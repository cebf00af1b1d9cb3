"""Values as JSON, and back: how arguments and results travel.

None, booleans, strings, finite floats and small integers are themselves; a list is an array. Everything else is an object with
a `$` that names its kind and a `v`:

    int      beyond 64 bits, in hexadecimal      float    "inf", "-inf" or "nan"
    str      with surrogates: code points        bytes    one character a byte
    complex  real and imaginary part             tuple, frozenset, range, slice: as their parts
    set, bytearray, deque: as their elements     dict, Counter, OrderedDict, defaultdict: pairs
    made     [name, arguments] of a class in `MADE`
    stdlib   [module, name] of a standard thing  same     a container that came before, by its number
    remote   a thing that stays where it is, by its number

Containers that can change are numbered as they come, each before what it holds, so that sharing, cycles and changes survive.
"""

from . import isolation

isolation.own_builtins(globals())

import collections  # noqa: E402
import datetime  # noqa: E402
import decimal  # noqa: E402
import fractions  # noqa: E402
import math  # noqa: E402
import sys  # noqa: E402

# Deeper values than this are told as their kind only.
DEPTH = 200

SMALL = 1 << 63

_finite = math.isfinite


def _reduced(value):
    return list(value.__reduce__()[1])


# Standard classes that are made again on the other side: class -> its arguments.
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

# Containers that can change: class -> the name of its kind. Lists are arrays and need none.
CONTAINERS = {
    list: None,
    dict: "dict",
    set: "set",
    bytearray: "bytearray",
    collections.deque: "deque",
    collections.Counter: "Counter",
    collections.OrderedDict: "OrderedDict",
    collections.defaultdict: "defaultdict",
}
_CONTAINERS_BY_NAME = {name: kind for kind, name in CONTAINERS.items() if name}


class TooLong(Exception):
    """The value has more parts than may leave."""


class Packer:
    """Writes values."""

    def __init__(self, export, room, known=()):
        self.export = export
        self.room = room
        # Containers are kept alive here: an identity may be used again only after its object is gone.
        self.containers = list(known)
        self.numbers = {id(value): number for number, value in enumerate(self.containers)}

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
        self._spend(1)
        if kind in CONTAINERS:
            number = self.numbers.get(id(value))
            if number is not None:
                return {"$": "same", "v": number}
            self.numbers[id(value)] = len(self.containers)
            self.containers.append(value)
            return self.content(value, depth)
        if kind is tuple:
            return {"$": "tuple", "v": self._sequence(value, depth)}
        if kind is frozenset:
            return {"$": "frozenset", "v": self._sequence(sorted_if_possible(value), depth)}
        if kind is bytes:
            self._spend(len(value) // 64)
            return {"$": "bytes", "v": value.decode("latin-1")}
        if kind is complex:
            return {"$": "complex", "v": [self.pack(value.real), self.pack(value.imag)]}
        if kind in (range, slice):
            parts = [self.pack(part, depth + 1) for part in (value.start, value.stop, value.step)]
            return {"$": kind.__name__, "v": parts}
        if kind in MADE:
            arguments = [self.pack(argument, depth + 1) for argument in MADE[kind](value)]
            return {"$": "made", "v": [f"{kind.__module__}.{kind.__qualname__}", {"$": "tuple", "v": arguments}]}
        return self.export(self, value, depth)

    def content(self, value, depth=0):
        """What a container holds."""
        kind = type(value)
        if kind is list:
            return self._sequence(value, depth)
        if kind is set:
            return {"$": "set", "v": self._sequence(sorted_if_possible(value), depth)}
        if kind is bytearray:
            self._spend(len(value) // 64)
            return {"$": "bytearray", "v": bytes(value).decode("latin-1")}
        if kind is collections.deque:
            return {"$": "deque", "v": self._sequence(value, depth), "maxlen": value.maxlen}
        packed = {"$": CONTAINERS[kind], "v": self._pairs(value, depth)}
        if kind is collections.defaultdict:
            packed["factory"] = self.pack(value.default_factory, depth + 1)
        return packed

    def plain(self, value, depth=0):
        """A value of a class derived from a builtin one, as that builtin; `None` where there is none."""
        for base in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset):
            if isinstance(value, base):
                return self.pack(_base(base, value), depth + 1)
        return None

    def _spend(self, parts):
        self.room -= parts
        if self.room < 0:
            raise TooLong

    def _text(self, value):
        self._spend(len(value) // 64)
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"$": "str", "v": [ord(character) for character in value]}
        return value

    def _sequence(self, value, depth):
        self._spend(len(value))
        kinds = set(map(type, value))
        if kinds == {int} and -SMALL <= min(value) and max(value) < SMALL:
            return list(value)
        if kinds == {float} and all(map(_finite, value)):
            return list(value)
        return [self.pack(element, depth + 1) for element in value]

    def _pairs(self, value, depth):
        self._spend(len(value))
        return [[self.pack(key, depth + 1), self.pack(held, depth + 1)] for key, held in dict.items(value)]


def _base(base, value):
    """The builtin inside a value of a derived class, by the builtin's own methods."""
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


def sorted_if_possible(value):
    """Elements of a set in an order that does not depend on addresses, where they can be ordered."""
    try:
        return sorted(value)
    except Exception:
        return list(value)


class Unpacker:
    """Reads values. `reference` reads what is no data."""

    def __init__(self, reference, known=()):
        self.reference = reference
        self.containers = list(known)

    def unpack(self, packed):
        kind = type(packed)
        if kind is list:
            return self.fill(self._new([]), packed)
        if kind is not dict:
            return packed
        tag, value = packed["$"], packed["v"]
        if tag == "tuple":
            return tuple(map(self.unpack, value))
        if tag in _CONTAINERS_BY_NAME:
            container = _CONTAINERS_BY_NAME[tag]
            if tag == "deque":
                return self.fill(self._new(container(maxlen=packed["maxlen"])), packed)
            return self.fill(self._new(container()), packed)
        if tag == "same":
            return self.containers[value]
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
        if tag == "made":
            return _MADE_BY_NAME[value[0]](*self.unpack(value[1]))
        return self.reference(packed)

    def fill(self, container, packed):
        """Gives a container the content that was packed for it."""
        if type(packed) is list:
            container[:] = map(self.unpack, packed)
            return container
        tag, value = packed["$"], packed["v"]
        if tag == "bytearray":
            container[:] = value.encode("latin-1")
            return container
        if tag in ("set", "deque"):
            content = list(map(self.unpack, value))
            container.clear()
            (container.update if tag == "set" else container.extend)(content)
            return container
        content = [(self.unpack(key), self.unpack(held)) for key, held in value]
        container.clear()
        # Not `update`: of a counter it would add.
        for key, held in content:
            container[key] = held
        if tag == "defaultdict":
            container.default_factory = self.unpack(packed["factory"])
        return container

    def _new(self, container):
        self.containers.append(container)
        return container


def standard(module, name):
    """A thing of the standard library, from this instance's own copy."""
    if module.partition(".")[0] not in sys.stdlib_module_names and module != "builtins":
        raise ImportError(f"`{module}` is no module of the standard library")
    thing = __import__(module, fromlist=["_"])
    for part in name.split(".") if name else ():
        thing = getattr(thing, part)
    return thing


def standard_name(value):
    """Module and name of a thing of the standard library that can be found again by them; `None` for others."""
    if type(value) is type(sys):
        name = getattr(value, "__name__", None)
        known = type(name) is str and name.partition(".")[0] in sys.stdlib_module_names
        return [name, ""] if known and sys.modules.get(name) is value else None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if type(module) is not str or type(name) is not str or "<" in name:
        return None
    try:
        return [module, name] if standard(module, name) is value else None
    except Exception:
        return None
