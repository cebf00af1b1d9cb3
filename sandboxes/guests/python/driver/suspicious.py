"""Stand-ins in the judging instance for objects of the program, which may be under an attacker's
control.

An object of the program is an instance of `Remote`, and a class of the program is a subclass of it,
whose metaclass sends requests as instances do. So `type(thing) is C`, `type(thing).__name__` and
`C.attribute` have the same meaning as in the program.
"""

from . import isolation

isolation.own_builtins(globals())

import abc  # noqa: E402
import collections.abc  # noqa: E402
import enum  # noqa: E402
import sys  # noqa: E402
import typing  # noqa: E402

from . import operations, values  # noqa: E402

# File names of the test's code.
FILES = ("setup.py", "test.py")

# Maximum length of the name of a class of the program, in characters.
NAME = 100


def is_remote(thing):
    """Whether this is a stand-in for an object or a class of the program."""
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
    """An exception for an operation that the sandbox does not support. If the test itself performed
    it, the task is at fault.
    """
    error = TypeError(f"{what} is not supported by the sandbox")
    if sys._getframe(2).f_code.co_filename in FILES:
        error._assay_limit = ("other", "deriving from a class of the program")
        error._assay_unsupported = True
    return error


def _attribute(remote, name):
    """An attribute of the program's object. numpy would read memory at an address that
    `__array_interface__` names, so its protocols are not available.
    """
    if name.startswith("__array"):
        raise AttributeError(name)
    return ask(remote, "__getattr__", name)


class RemoteType(type):
    """Metaclass of the classes that stand in for classes of the program."""

    def __new__(meta, name, bases, namespace, **options):
        if bases:
            raise unsupported(f"deriving from `{bases[0].__name__}`, a class of the program,")
        return super().__new__(meta, name, bases, namespace)

    def __getattr__(cls, name):
        return _attribute(cls, name)

    def __setattr__(cls, name, value):
        ask(cls, "__setattr__", name, value)

    def __delattr__(cls, name):
        ask(cls, "__delattr__", name)

    @property
    def __base__(cls):
        found = ask(cls, "__getattr__", "__base__") if has_number(cls) else None
        return found if isinstance(found, type) else type.__dict__["__base__"].__get__(cls)

    @property
    def __bases__(cls):
        return _lineage(cls, "__bases__")

    @property
    def __mro__(cls):
        return _lineage(cls, "__mro__")

    # The driver keeps classes in sets and dictionaries, which must not send requests.
    __hash__ = type.__hash__
    __eq__ = type.__eq__
    __ne__ = type.__ne__


def _lineage(cls, name):
    """The bases of a class of the program, as the program reports them. The classes of this module
    have their own.
    """
    own = type.__dict__[name].__get__(cls)
    if not has_number(cls):
        return own
    found = ask(cls, "__getattr__", name)
    return found if type(found) is tuple and all(isinstance(part, type) for part in found) else own


def has_number(cls):
    """Whether a stand-in class represents one class of the program."""
    return any("_assay_class_number" in vars(part) for part in type.mro(cls))


class Remote(metaclass=RemoteType):
    """A stand-in for an object of the program."""

    __slots__ = ("_assay_peer", "_assay_number", "_assay_tainted", "__weakref__")

    def __getattr__(self, name):
        return _attribute(self, name)

    # numpy leaves comparisons with an array to the methods below.
    __array_ufunc__ = None

    def __ne__(self, other):
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal

    def __mro_entries__(self, bases):
        raise unsupported("deriving from an object of the program")

    def __await__(self):
        return _forward_async("run")(self).__await__()


def stand_in(peer, number, kind=Remote, tainted=False):
    """The stand-in for an object that the program lent under a number."""
    remote = object.__new__(kind)
    object.__setattr__(remote, "_assay_peer", peer)
    object.__setattr__(remote, "_assay_number", number)
    object.__setattr__(remote, "_assay_tainted", tainted)
    return remote


def stand_in_class(peer, number, name, qualname, module, base):
    """The stand-in for a class of the program, with the names that the program reports."""
    name, qualname, module = (
        text[:NAME].replace("\0", "") if type(text) is str else "?"
        for text in (name, qualname, module)
    )
    namespace = {"__slots__": (), "__qualname__": qualname, "__module__": module, "__doc__": _DOC}
    for builtin in values.BASES:
        if builtin.__name__ == base:
            # Makes `isinstance` find the class, with the technique of `unittest.mock`.
            namespace["__class__"] = property(lambda self: builtin)
            break
    kind = type.__new__(RemoteType, name, (Remote,), namespace)
    type.__setattr__(kind, "_assay_class_peer", peer)
    type.__setattr__(kind, "_assay_class_number", number)
    return kind


# Stand-in classes for objects of classes of the library, by module and name.
_standard = {}


def standard_class(module, name):
    """The stand-in class for objects of a class of the standard library. `isinstance` finds that
    class.
    """
    if (module, name) not in _standard:
        found = getattr(sys.modules.get(module), name, None)
        if not _may_stand_for(found):
            return Remote
        # Makes `isinstance` find the class, with the technique of `unittest.mock`.
        namespace = {"__slots__": (), "__class__": property(lambda self: found), "__doc__": _DOC}
        names = {"__qualname__": found.__qualname__, "__module__": found.__module__}
        _standard[module, name] = type.__new__(
            RemoteType, found.__name__, (Remote,), namespace | names
        )
    return _standard[module, name]


def _may_stand_for(found):
    return (
        isinstance(found, type)
        and not isinstance(found, RemoteType)
        and not issubclass(found, (type, BaseException))
        and found.__module__.partition(".")[0] in sys.stdlib_module_names | {"builtins"}
    )


def is_unclassified(value):
    """Whether this is a stand-in for a function or another object whose class the program does not
    define.
    """
    return type(type(value)) is RemoteType and not has_number(type(value))


def check_classes():
    """Makes `isinstance` and `issubclass` ask the program whether its objects and classes belong to
    an abstract class of the library, or an enumeration. Stand-ins have all special methods, so
    abstract classes would accept each.
    """
    for meta in (abc.ABCMeta, enum.EnumType, typing._ProtocolMeta):
        meta.__instancecheck__ = _asking(meta.__instancecheck__, False)
        meta.__subclasscheck__ = _asking(meta.__subclasscheck__, True)


def is_callable(thing):
    """`callable`: every stand-in has `__call__`."""
    return isinstance(thing, collections.abc.Callable) if is_remote(thing) else callable(thing)


def _asking(check, of_class):
    def asking(cls, thing):
        if not is_remote(thing) or type(cls) is RemoteType:
            return check(cls, thing)
        if type(thing) is RemoteType and not has_number(thing):
            found = vars(thing).get("__class__")
            return check(cls, thing if found is None else found.fget(None))
        if of_class and type(thing) is not RemoteType:
            raise TypeError("issubclass() arg 1 must be a class")
        name = values.standard_name(cls)
        if name is not None:
            return ask(thing, "belongs", *name, of_class) is True
        if getattr(cls, "_is_protocol", False):
            return all(hasattr(thing, name) for name in cls.__protocol_attrs__)
        return check(cls, thing)

    return asking


_FIXED = frozenset((bool, int, float, complex, str, bytes))
_PLAIN = _FIXED | {list, tuple, dict, set, frozenset}


def inside(remote):
    """The plain value inside, or `None` if there is none. The result of arithmetic with a value of
    the test has none, because the program could forge it. An immutable value is requested only
    once, so that it is the same in every comparison.
    """
    if _is_tainted(remote):
        return None
    known, number = _peer_of(remote).insides, number_of(remote)
    if number in known:
        return known[number]
    found = ask(remote, "plain")
    if type(found) not in _PLAIN:
        return None
    if type(found) in _FIXED:
        known[number] = found
    return found


def _forward(method):
    def forwarded(self, *args, **kwargs):
        return ask(self, method, *args, **kwargs)

    return forwarded


def _forward_async(method):
    async def forwarded(self, *args):
        return ask(self, method, *args)

    return forwarded


# `with` statements. A failed check of the test ends the block with its exception, whatever the
# program returns.


def _enter(self):
    entered = ask(self, "__enter__")
    _peer_of(self).checks.enter(number_of(self))
    return entered


def _exit(self, kind, error, trace):
    failed = _peer_of(self).checks.fails_in(number_of(self), error)
    try:
        return ask(self, "__exit__", kind, error, trace) and not failed
    except BaseException:
        if failed:
            return False
        raise


async def _enter_async(self):
    entered = ask(self, "__aenter__")
    _peer_of(self).checks.enter(number_of(self))
    return entered


async def _exit_async(self, kind, error, trace):
    failed = _peer_of(self).checks.fails_in(number_of(self), error)
    try:
        return ask(self, "__aexit__", kind, error, trace) and not failed
    except BaseException:
        if failed:
            return False
        raise


_CONTEXTS = {
    "__enter__": _enter,
    "__exit__": _exit,
    "__aenter__": _enter_async,
    "__aexit__": _exit_async,
}


def _compare(do, method):
    """Compares two objects of the program there. In a comparison with a value of the test only the
    plain value inside is used, because the program's `__eq__` could accept any expected value.
    """

    def compared(self, other):
        if is_remote(other):
            return bool(ask(self, method, other))
        found = inside(self)
        return NotImplemented if found is None else do(found, other)

    return compared


def _operate(do, method):
    """Arithmetic with a value of the test uses the plain value inside. An object without one may
    return another object of the program, as vectors do. A plain result is rejected, because the
    program could forge it.
    """

    def operated(self, other, *rest):
        if is_remote(other):
            return ask(self, method, other, *rest)
        found = inside(self)
        if found is not None:
            return do(found, other, *rest)
        result = ask(self, method, other, *rest)
        if type(type(result)) is not RemoteType:
            raise _refused(
                self,
                f"`{method}` of the program's class with a value of the test must return an object of the program",
            )
        return stand_in(_peer_of(self), number_of(result), type(result), tainted=True)

    return operated


def _number(do, method):
    """Conversion of an object to a number. For the result of arithmetic with a value of the test,
    only the plain value inside is used.
    """

    def converted(self, *args):
        found = inside(self)
        if found is not None:
            return do(found, *args)
        if _is_tainted(self):
            raise _refused(
                self,
                f"`{method}` is not supported for what the program's class computed from a value of the test",
            )
        return ask(self, method, *args)

    return converted


_ASYNC = ("__anext__",)
# Methods that are defined above.
_OWN = ("__getattr__", "__ne__", "run")
# Methods that the interpreter calls on every class, and those by which sets and dictionaries find a
# class.
_NOT_OF_CLASSES = (
    "__setattr__",
    "__delattr__",
    "__eq__",
    "__hash__",
    "__dir__",
    "__copy__",
    "__deepcopy__",
)


def _method(name, do):
    if name in _CONTEXTS:
        return _CONTEXTS[name]
    if name in operations.COMPARISONS:
        return _compare(do, name)
    if name in operations.OPERATORS:
        return _operate(do, name)
    if name in operations.NUMBERS:
        return _number(do, name)
    return _forward_async(name) if name in _ASYNC else _forward(name)


# Otherwise the docstring of the stand-in class would be returned.
_DOC = property(lambda self: ask(self, "__getattr__", "__doc__"))

for _name, _do in operations.METHODS.items():
    if _name not in _OWN:
        _made = _method(_name, _do)
        type.__setattr__(Remote, _name, _made)
        if _name not in _NOT_OF_CLASSES:
            setattr(RemoteType, _name, _made)
type.__setattr__(Remote, "__doc__", _DOC)
RemoteType.__doc__ = _DOC
