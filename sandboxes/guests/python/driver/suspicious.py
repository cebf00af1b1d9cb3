"""Stand-ins in the judging instance for things of the program, which may be in an attacker's hands.

An object of the program is an instance of `Remote`, a class of the program a subclass of it, whose metaclass asks as its instances
do. So `type(thing) is C`, `type(thing).__name__` and `C.attribute` mean what they mean beside the program.
"""

from . import isolation

isolation.own_builtins(globals())

import sys  # noqa: E402

from . import operations  # noqa: E402

# The texts that judge.
FILES = ("setup.py", "test.py")

# Longest name of a class of the program, in characters.
NAME = 100


def is_remote(thing):
    """Whether something stands in for a thing of the program."""
    return type(thing) is RemoteType or type(type(thing)) is RemoteType


def number_of(remote):
    if type(remote) is RemoteType:
        return type.__getattribute__(remote, "_assay_class_number")
    return object.__getattribute__(remote, "_assay_number")


def ask(remote, method, *args, **kwargs):
    return _peer_of(remote).ask(number_of(remote), method, args, kwargs)


def _peer_of(remote):
    if type(remote) is RemoteType:
        return type.__getattribute__(remote, "_assay_class_peer")
    return object.__getattribute__(remote, "_assay_peer")


def _is_tainted(remote):
    return type(remote) is not RemoteType and object.__getattribute__(remote, "_assay_tainted")


def _refused(remote, text):
    return _peer_of(remote).refusal(TypeError(text))


def unsupported(what):
    """An exception for what the sandbox does not support. Where the text asked for it itself, nobody else is at fault."""
    error = TypeError(f"{what} is not supported by the sandbox")
    if sys._getframe(2).f_code.co_filename in FILES:
        error._assay_limit = ("other", "deriving from a class of the program")
        error._assay_unsupported = True
    return error


class RemoteType(type):
    """Class of the classes that stand in for those of the program."""

    def __new__(meta, name, bases, namespace, **options):
        if bases:
            raise unsupported(f"deriving from `{bases[0].__name__}`, a class of the program,")
        return super().__new__(meta, name, bases, namespace)

    def __getattr__(cls, name):
        return ask(cls, "__getattr__", name)

    def __setattr__(cls, name, value):
        ask(cls, "__setattr__", name, value)

    def __delattr__(cls, name):
        ask(cls, "__delattr__", name)

    # Sets and dictionaries of the driver hold classes, and must not ask.
    __hash__ = type.__hash__
    __eq__ = type.__eq__
    __ne__ = type.__ne__


class Remote(metaclass=RemoteType):
    """Stands in for an object of the program's instance."""

    __slots__ = ("_assay_peer", "_assay_number", "_assay_tainted", "__weakref__")

    def __getattr__(self, name):
        return ask(self, "__getattr__", name)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal

    def __mro_entries__(self, bases):
        raise unsupported("deriving from an object of the program")

    def __await__(self):
        return _forward_async("run")(self).__await__()


def stand_in(peer, number, kind=Remote, tainted=False):
    """What stands here for an object that the program lent under a number."""
    remote = object.__new__(kind)
    object.__setattr__(remote, "_assay_peer", peer)
    object.__setattr__(remote, "_assay_number", number)
    object.__setattr__(remote, "_assay_tainted", tainted)
    return remote


def stand_in_class(peer, number, name, qualname, module):
    """What stands here for a class of the program, by the names it says it has."""
    name, qualname, module = (text[:NAME].replace("\0", "") if type(text) is str else "?" for text in (name, qualname, module))
    namespace = {"__slots__": (), "__qualname__": qualname, "__module__": module, "__doc__": _DOC}
    kind = type.__new__(RemoteType, name, (Remote,), namespace)
    type.__setattr__(kind, "_assay_class_peer", peer)
    type.__setattr__(kind, "_assay_class_number", number)
    return kind


def _forward(method):
    def forwarded(self, *args, **kwargs):
        return ask(self, method, *args, **kwargs)

    return forwarded


def _forward_async(method):
    async def forwarded(self, *args):
        return ask(self, method, *args)

    return forwarded


def _compare(do, method):
    """Two things of the other instance are compared there. With a value of this one, only the plain value inside counts: what a
    program's `__eq__` says of an expected value is worth nothing."""

    def compared(self, other):
        if is_remote(other):
            return bool(ask(self, method, other))
        inside = ask(self, "plain")
        return NotImplemented if inside is None else do(inside, other)

    return compared


def _operate(do, method):
    """Arithmetic with a value of this instance is done on the plain value inside. Without one the other instance may answer with
    a thing of its own, as vectors do; a plain answer could be made up to please, so it counts for nothing."""

    def operated(self, other, *rest):
        if is_remote(other):
            return ask(self, method, other, *rest)
        inside = ask(self, "plain")
        if inside is not None:
            return do(inside, other, *rest)
        result = ask(self, method, other, *rest)
        if type(type(result)) is not RemoteType:
            raise _refused(self, f"`{method}` of the program's own class with a value of the test gives no thing of its own")
        return stand_in(_peer_of(self), number_of(result), type(result), tainted=True)

    return operated


def _number(do, method):
    """A number from one thing; from the result of arithmetic with a value of this instance only the plain value inside."""

    def converted(self, *args):
        inside = ask(self, "plain")
        if inside is not None:
            return do(inside, *args)
        if _is_tainted(self):
            raise _refused(self, f"`{method}` of what the program's own class made of a value of the test")
        return ask(self, method, *args)

    return converted


_ASYNC = ("__anext__", "__aenter__", "__aexit__")
# What both classes say themselves, above.
_OWN = ("__getattr__", "__ne__", "run")
# What the interpreter asks of every class, and what decides how a class is found in tables.
_NOT_OF_CLASSES = ("__setattr__", "__delattr__", "__eq__", "__hash__", "__dir__", "__copy__", "__deepcopy__")


def _method(name, do):
    if name in operations.COMPARISONS:
        return _compare(do, name)
    if name in operations.OPERATORS:
        return _operate(do, name)
    if name in operations.NUMBERS:
        return _number(do, name)
    return _forward_async(name) if name in _ASYNC else _forward(name)


# Otherwise that of this class would be found.
_DOC = property(lambda self: ask(self, "__getattr__", "__doc__"))

for _name, _do in operations.METHODS.items():
    if _name not in _OWN:
        _made = _method(_name, _do)
        type.__setattr__(Remote, _name, _made)
        if _name not in _NOT_OF_CLASSES:
            setattr(RemoteType, _name, _made)
type.__setattr__(Remote, "__doc__", _DOC)
RemoteType.__doc__ = _DOC
