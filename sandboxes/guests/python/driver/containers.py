"""Containers that both instances can change: how each kind is copied, compared, packed and filled.

Every operation calls the methods of the builtin class directly, so that the same code handles
classes derived from it.
"""

from . import isolation

isolation.own_builtins(globals())

import array  # noqa: E402
import collections  # noqa: E402
import io  # noqa: E402
import operator  # noqa: E402
import random  # noqa: E402
import types  # noqa: E402


class Kind:
    """A kind of container. `snapshot` copies its contents, `same` compares it with such a copy by
    identity.
    """

    def __init__(self, base, tag, snapshot, same, pack, fill, new=None, size=len):
        self.base, self.tag, self.snapshot, self.same = base, tag, snapshot, same
        self.pack, self.fill, self.size = pack, fill, size
        self.new = new or (lambda packed: base())


def _elements_same(values):
    def same(container, before):
        return len(before) == len(container) and all(map(operator.is_, values(container), before))

    return same


def _pairs_same(container, before):
    if dict.__len__(container) != len(before):
        return False
    pairs = zip(dict.items(container), before.items())
    return all(
        key is key_before and held is held_before
        for (key, held), (key_before, held_before) in pairs
    )


def _fill_list(unpacker, container, packed):
    list.__setitem__(container, slice(None), list(map(unpacker.unpack, packed)))


def _fill_set(unpacker, container, packed):
    content = list(map(unpacker.unpack, packed["v"]))
    set.clear(container)
    set.update(container, content)


def _fill_deque(unpacker, container, packed):
    content = list(map(unpacker.unpack, packed["v"]))
    collections.deque.clear(container)
    collections.deque.extend(container, content)


def _fill_bytes(unpacker, container, packed):
    bytearray.__setitem__(container, slice(None), packed["v"].encode("latin-1"))


def _dictionary(base, tag):
    def pack(packer, container, depth):
        return {"$": tag, "v": packer.pairs(container, depth)}

    def fill(unpacker, container, packed):
        content = [(unpacker.unpack(key), unpacker.unpack(held)) for key, held in packed["v"]]
        base.clear(container)
        # Not `update`, which adds counts in a `Counter`.
        for key, held in content:
            base.__setitem__(container, key, held)

    if base is not collections.OrderedDict:
        return Kind(base, tag, dict.copy, _pairs_same, pack, fill)
    flat = lambda container: [part for pair in base.items(container) for part in pair]  # noqa: E731
    same = lambda container, before: (
        2 * len(container) == len(before) and _flat_same(container, before)
    )  # noqa: E731
    return Kind(base, tag, flat, same, pack, fill)


def _flat_same(container, before):
    now = (part for pair in collections.OrderedDict.items(container) for part in pair)
    return all(map(operator.is_, now, before))


def _default_dictionary():
    kind = _dictionary(collections.defaultdict, "defaultdict")
    plain_pack, plain_fill = kind.pack, kind.fill

    def pack(packer, container, depth):
        packed = plain_pack(packer, container, depth)
        packed["factory"] = packer.pack(container.default_factory, depth + 1)
        return packed

    def fill(unpacker, container, packed):
        plain_fill(unpacker, container, packed)
        container.default_factory = unpacker.unpack(packed["factory"])

    kind.pack, kind.fill = pack, fill
    # Its own `copy` keeps the class.
    kind.snapshot = lambda container: dict(dict.items(container))
    return kind


def _array():
    def pack(packer, container, depth):
        return {
            "$": "array",
            "v": packer.sequence(container.tolist(), depth),
            "code": container.typecode,
        }

    def fill(unpacker, container, packed):
        container[:] = array.array(container.typecode, map(unpacker.unpack, packed["v"]))

    def new(packed):
        return array.array(packed["code"])

    def same(container, before):
        return container.tobytes() == before

    return Kind(array.array, "array", lambda container: container.tobytes(), same, pack, fill, new)


def _stream(base):
    """In-memory streams: content, newline mode and position, or `None` if closed."""

    def state(stream):
        return None if stream.closed else stream.__getstate__()[:-1]

    def pack(packer, stream, depth):
        parts = state(stream)
        return {"$": base.__name__, "v": parts and [packer.pack(part) for part in parts]}

    def fill(unpacker, stream, packed):
        if packed["v"] is None:
            stream.close()
        elif not stream.closed:
            stream.__setstate__((*map(unpacker.unpack, packed["v"]), None))

    return Kind(
        base,
        base.__name__,
        state,
        lambda stream, before: state(stream) == before,
        pack,
        fill,
        size=lambda stream: 0 if stream.closed else stream.tell() // 64,
    )


def _namespace():
    def pack(packer, container, depth):
        return {"$": "namespace", "v": packer.pairs(vars(container), depth)}

    def fill(unpacker, container, packed):
        content = {str(key): unpacker.unpack(held) for key, held in packed["v"]}
        vars(container).clear()
        vars(container).update(content)

    def same(container, before):
        return _pairs_same(vars(container), before)

    snapshot = lambda container: dict(vars(container))  # noqa: E731
    size = lambda container: len(vars(container))  # noqa: E731
    return Kind(types.SimpleNamespace, "namespace", snapshot, same, pack, fill, size=size)


def _random():
    def pack(packer, generator, depth):
        version, words, gauss = generator.getstate()
        return {"$": "Random", "v": [version, list(words), gauss]}

    def fill(unpacker, generator, packed):
        version, words, gauss = packed["v"]
        random.Random.setstate(generator, (version, tuple(words), gauss))

    same = lambda generator, before: generator.getstate() == before  # noqa: E731
    new = lambda packed: random.Random(0)  # noqa: E731
    return Kind(
        random.Random,
        "Random",
        random.Random.getstate,
        same,
        pack,
        fill,
        new,
        lambda generator: 600,
    )


def _packed_sequence(tag):
    return lambda packer, container, depth: {"$": tag, "v": packer.sequence(container, depth)}


_DEQUE = Kind(
    collections.deque,
    "deque",
    lambda container: list(collections.deque.__iter__(container)),
    _elements_same(collections.deque.__iter__),
    lambda packer, container, depth: {
        "$": "deque",
        "v": packer.sequence(container, depth),
        "maxlen": container.maxlen,
    },
    _fill_deque,
    lambda packed: collections.deque(maxlen=packed["maxlen"]),
)

# Kinds of plain data, which returned values may contain too.
PLAIN = [
    Kind(
        list,
        None,
        list.copy,
        _elements_same(list.__iter__),
        lambda packer, container, depth: packer.sequence(container, depth),
        _fill_list,
    ),
    _dictionary(dict, "dict"),
    Kind(
        set,
        "set",
        set,
        lambda container, before: set.__eq__(container, before),
        lambda packer, container, depth: {
            "$": "set",
            "v": packer.sequence(in_order(container), depth),
        },
        _fill_set,
    ),
    Kind(
        bytearray,
        "bytearray",
        bytes,
        lambda container, before: bytes(container) == before,
        lambda packer, container, depth: packer.bytes("bytearray", container),
        _fill_bytes,
    ),
    _DEQUE,
    _dictionary(collections.Counter, "Counter"),
    _dictionary(collections.OrderedDict, "OrderedDict"),
    _default_dictionary(),
]
PLAIN = {kind.base: kind for kind in PLAIN}
KINDS = PLAIN | {
    kind.base: kind
    for kind in (_array(), _stream(io.StringIO), _stream(io.BytesIO), _namespace(), _random())
}
BY_TAG = {kind.tag: kind for kind in KINDS.values()}

# Bases whose derived classes are sent as the container inside. Subclasses come before their base
# classes.
_INSIDE = [
    collections.defaultdict,
    collections.OrderedDict,
    collections.Counter,
    dict,
    list,
    set,
    bytearray,
    collections.deque,
]


def inside(cls):
    """The kind of the container inside instances of a derived class, or `None` if there is none."""
    return next((KINDS[base] for base in _INSIDE if issubclass(cls, base)), None)


def in_order(value):
    """Elements of a set in an order that does not depend on addresses, if they can be ordered."""
    try:
        return sorted(value)
    except Exception:
        return list(value)
