"""Objects of the standard library that are sent as the arguments that construct them."""

from . import isolation

isolation.own_builtins(globals())

import collections  # noqa: E402
import functools  # noqa: E402
import gc  # noqa: E402
import operator  # noqa: E402
import pathlib  # noqa: E402
import re  # noqa: E402
import string  # noqa: E402
import types  # noqa: E402
import uuid  # noqa: E402

_VIEWS = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}


def _dictionary_of(holder):
    """The dictionary behind a view or a proxy; `None` if it cannot be sent."""
    found = [thing for thing in gc.get_referents(holder) if isinstance(thing, dict)]
    return (
        found[0]
        if len(found) == 1
        and type(found[0]) in (dict, collections.OrderedDict, collections.Counter)
        else None
    )


def _view(name):
    return lambda view: None if (shown := _dictionary_of(view)) is None else [shown]


def _memory(view):
    whole = (
        type(view.obj) in (bytes, bytearray)
        and view.contiguous
        and view.format == "B"
        and view.nbytes == len(view.obj)
    )
    return [view.obj] if whole else None


# Class -> name, function that gives the arguments, constructor. Data only: the test accepts these
# from the program too.
_DATA = {
    uuid.UUID: ("uuid", lambda value: [value.int], lambda number: uuid.UUID(int=number)),
    pathlib.PosixPath: ("path", lambda value: [str(value)], pathlib.PosixPath),
    pathlib.PurePosixPath: ("purepath", lambda value: [str(value)], pathlib.PurePosixPath),
    pathlib.PureWindowsPath: ("windowspath", lambda value: [str(value)], pathlib.PureWindowsPath),
    re.Pattern: (
        "pattern",
        lambda value: [value.pattern, value.flags & ~re.DEBUG],
        lambda pattern, flags: re.compile(pattern, flags & ~int(re.DEBUG)),
    ),
    memoryview: ("memoryview", _memory, memoryview),
    types.MappingProxyType: ("proxy", _view(None), types.MappingProxyType),
}
for _kind, _name in _VIEWS.items():
    _DATA[_kind] = (_name, _view(_name), getattr(dict, _name))

# Objects that run code: only the program accepts them, from the test.
_CODE = {
    functools.partial: (
        "partial",
        lambda value: [value.func, list(value.args), dict(value.keywords)],
        lambda function, args, kwargs: functools.partial(function, *args, **kwargs),
    ),
    operator.itemgetter: (
        "itemgetter",
        lambda value: list(value.__reduce__()[1]),
        operator.itemgetter,
    ),
    operator.attrgetter: (
        "attrgetter",
        lambda value: list(value.__reduce__()[1]),
        operator.attrgetter,
    ),
    string.Template: ("template", lambda value: [value.template], string.Template),
    collections.ChainMap: ("chain", lambda value: list(value.maps), collections.ChainMap),
}
_DATA_BY_NAME = {name: make for name, _, make in _DATA.values()}
_BY_NAME = _DATA_BY_NAME | {name: make for name, _, make in _CODE.values()}


def arguments(value, data_only=False):
    """Name and arguments of an object that is sent this way, or `None` for other objects."""
    entry = _DATA.get(type(value)) or (None if data_only else _CODE.get(type(value)))
    if entry is None:
        return None
    found = entry[1](value)
    return None if found is None else (entry[0], found)


def make(name, args, data_only):
    return (_DATA_BY_NAME if data_only else _BY_NAME)[name](*args)
