"""How objects of the test are lent to the program: each class is described once, so that stand-ins
behave like the originals, and the program's requests are restricted.

The program may call what it was given, use methods of the data model and read public attributes. It
cannot reach frames, code, globals or modules of the test, and cannot replace the methods with which
the test judges.
"""

from . import isolation

isolation.own_builtins(globals())

import copy  # noqa: E402
import dataclasses  # noqa: E402
import enum  # noqa: E402
import functools  # noqa: E402
import inspect  # noqa: E402
import string  # noqa: E402
import types  # noqa: E402
import typing  # noqa: E402
import unittest  # noqa: E402
import unittest.mock  # noqa: E402

from . import containers, failures, library, operations, values  # noqa: E402

# The module in which an assert runs, where test runners look for test classes; and the module of a
# pytest file, whose last lines often start a test runner if it is the main module.
MODULE, FILE_MODULE = "__main__", "test_file"
_MODULES = (MODULE, FILE_MODULE)

# Immutable builtin classes whose value is copied to the program's instance.
VALUES = (int, float, complex, str, bytes, tuple, frozenset)

# Objects of these types may not be used at all: they lead to the test's code and data.
_CLOSED = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, types.CellType)
_RUNNING = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_RUNNING_METHODS = frozenset("send throw close asend athrow aclose".split())
# Attributes of the library's classes that lead to code or change what a class is.
_CLOSED_NAMES = frozenset("mro register".split())
_MOCK_SETTERS = frozenset("configure_mock attach_mock mock_add_spec reset_mock".split())
_MOCK = frozenset(
    name
    for name in dir(unittest.mock.MagicMock()) + dir(unittest.mock.AsyncMock())
    if name[0] != "_"
)

# Modules with abstract classes from which a stand-in may derive: these have no data.
_ABSTRACT = ("abc", "collections.abc", "numbers")


def export(peer, packer, value, depth):
    """The message form of an object of the test."""
    kind = type(value)
    made = library.arguments(value)
    if made is not None:
        return packer.made(*made, depth)
    name = values.standard_name(value)
    if name is not None:
        return {"$": "stdlib", "v": name}
    if isinstance(value, type):
        reference = _class(peer, packer, value, depth)
        peer.handed.add(reference["v"])
        return reference
    if kind is types.FunctionType:
        return _function(peer, value)
    if (
        kind is types.MethodType
        or kind is types.BuiltinMethodType
        and not inspect.ismodule(value.__self__)
    ):
        owner, name = value.__self__, value.__name__
        if type(owner) in containers.KINDS or _is_own_method(owner, name, value):
            return {"$": "bound", "v": packer.pack(owner, depth + 1), "name": name}
    if kind is types.CoroutineType:
        return {"$": "remote", "v": peer.lend(value), "coroutine": True}
    reference = {"$": "remote", "v": peer.lend(value), "class": _class(peer, packer, kind, depth)}
    if _is_of_text(kind):
        if isinstance(value, enum.Flag):
            # A member without a name of its own.
            reference["flags"] = packer.pack(value._value_, depth + 1)
        elif (container := containers.inside(kind)) is not None:
            reference["inside"] = packer.container(value, container, depth)
        elif (base := _value_base(kind)) is not None:
            reference["inside"] = packer.pack(values.base_value(base, value), depth + 1)
    return reference


def _is_own_method(owner, name, method):
    """Whether a bound method is the value of an attribute of a lent object."""
    if isinstance(owner, type) or type(owner).__module__ not in _MODULES or name.startswith("_"):
        return False
    found = inspect.getattr_static(type(owner), name, None)
    return found is getattr(method, "__func__", None) and name not in getattr(owner, "__dict__", ())


def _is_of_text(kind):
    return kind.__module__ in _MODULES


def _value_base(kind):
    return next((base for base in VALUES if issubclass(kind, base)), None)


def _function(peer, function):
    """A function: what a caller and `inspect` see of it. Default values are not sent."""
    code = function.__code__
    count = (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & 4)
        + bool(code.co_flags & 8)
    )
    names = code.co_varnames[:count]
    keyword_defaults = sorted(function.__kwdefaults__ or ())
    shape = [
        code.co_posonlyargcount,
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_flags & 12,
        len(function.__defaults__ or ()),
        keyword_defaults,
    ]
    return {
        "$": "function",
        "v": peer.lend(function),
        "name": function.__name__,
        "qualname": function.__qualname__,
        "doc": _text(function.__doc__),
        "names": list(names),
        "shape": shape,
        "coroutine": inspect.iscoroutinefunction(function),
    }


def _text(value):
    return value[:1000] if isinstance(value, str) else None


# Classes.


def _class(peer, packer, kind, depth):
    if issubclass(kind, BaseException):
        return failures.reference_to_class(peer, packer, kind, depth)
    number = peer.lend(kind)
    reference = {"$": "class", "v": number}
    if number not in peer.described:
        peer.described.add(number)
        reference["is"] = describe(peer, packer, kind, depth)
    return reference


def describe(peer, packer, kind, depth=0):
    """A class: its name, its bases, and which methods its instances have."""
    told = {
        "name": kind.__name__,
        "qualname": kind.__qualname__,
        "module": kind.__module__,
        "doc": _text(kind.__doc__),
    }
    if not _is_of_text(kind):
        return told | {
            "bases": [],
            "members": _members(reversed(kind.__mro__[:-1])),
            "standard": _standard_class(kind),
        }
    if _is_record(kind):
        own = {*kind._fields, "__repr__"} if _made_by_library(kind.__repr__) else kind._fields
        return told | {
            "kind": "record",
            "fields": list(kind._fields),
            "members": _members([kind], own),
            "defaults": [
                [name, packer.pack(value, depth + 1)]
                for name, value in kind._field_defaults.items()
            ],
        }
    if issubclass(kind, enum.Enum) and len(kind):
        return told | _enumeration(peer, packer, kind, depth)
    bases, flat, standard = [], [kind], None
    for base in kind.__bases__:
        if _is_of_text(base):
            bases.append(_class(peer, packer, base, depth + 1))
        elif base in VALUES or base in containers.KINDS or base.__module__ in _ABSTRACT:
            bases.append(
                {
                    "$": "stdlib",
                    "v": values.standard_name(base) or [base.__module__, base.__qualname__],
                }
            )
        elif base is not object and base is not typing.Generic and base is not typing.Protocol:
            flat += [part for part in base.__mro__ if part is not object and part not in flat]
            standard = standard or _standard_class(base)
    told |= {"bases": bases, "members": _members(reversed(flat)), "standard": standard}
    if "__match_args__" in vars(kind):
        told["match"] = [str(name) for name in kind.__match_args__]
    if meta := _of_metaclass(kind):
        told["meta"] = meta
    if typing.Generic in kind.__mro__:
        told["generic"] = True
    if any("__dataclass_fields__" in vars(part) for part in kind.__mro__):
        told["fields"] = [
            [field.name, field.init, field.kw_only] for field in dataclasses.fields(kind)
        ]
    return told


# Comparing and hashing a class sends no request.
_NOT_OF_CLASSES = frozenset("__eq__ __ne__ __hash__ __call__".split())


def _of_metaclass(kind):
    """Special methods of the class itself, from metaclasses that the test defines."""
    names = {
        name for part in type(kind).__mro__ if _is_of_text(part) for name in vars(part)
    } & operations.SPECIAL
    if any("__subclasshook__" in vars(part) for part in kind.__mro__ if _is_of_text(part)):
        names |= {"__instancecheck__", "__subclasscheck__"}
    return sorted(names - _NOT_OF_CLASSES)


def _is_record(kind):
    return kind.__bases__ == (tuple,) and type(getattr(kind, "_fields", None)) is tuple


def _standard_class(kind):
    """Name of the standard-library class that `isinstance` should find for instances."""
    names = map(values.class_name, kind.__mro__[:-1])
    return next((name for name in names if name is not None), None)


def _made_by_library(value):
    """Whether `namedtuple` or `enum` generated a method: the program's instance generates its
    own.
    """
    return isinstance(value, types.FunctionType) and value.__code__.co_filename.startswith(
        ("<frozen", "<string")
    )


def _members(classes, but=()):
    """Methods that classes define: name -> `m` (method), `s` (static), `c` (class method), `o`
    (special, called on the class) or `n` (`None`).
    """
    members = {}
    for part in classes:
        for name, value in list(vars(part).items()):
            special = name.startswith("_")
            if special and name in operations.OF_CLASS:
                members[name] = "o"
            if name in but or special and name not in operations.SPECIAL or name in _CLOSED_NAMES:
                continue
            if value is None:
                if special:
                    members[name] = "n"
            elif isinstance(value, staticmethod):
                members[name] = "s"
            elif isinstance(value, (classmethod, types.ClassMethodDescriptorType)):
                members[name] = "c"
            elif special or isinstance(value, (types.FunctionType, types.MethodDescriptorType)):
                members[name] = "m"
            else:
                members.pop(name, None)
    return members


def _enumeration(peer, packer, kind, depth):
    """An enumeration: its members are created in the program's instance, each representing one
    here.
    """
    bases = [values.standard_name(base) for base in kind.__bases__ if not _is_of_text(base)]
    members = [
        [name, packer.pack(member._value_, depth + 1), peer.lend(member)]
        for name, member in kind.__members__.items()
    ]
    return {
        "kind": "enum",
        "bases": [base for base in bases if base],
        "values": members,
        "members": _members(
            [kind],
            {
                *kind.__members__,
                *filter(lambda name: _made_by_library(vars(kind)[name]), vars(kind)),
            },
        ),
    }


# Requests of the program about lent objects.


def do(peer, target, method, args, kwargs):
    """Carries out a request of the program; raises AttributeError or TypeError if it is not
    allowed.
    """
    if isinstance(target, _CLOSED):
        raise AttributeError(f"the program may not use a `{type(target).__name__}` of the test")
    if method == "special":
        name, *rest = args
        return _special(target, name)(*rest, **kwargs)
    if method == "method":
        name, *rest = args
        return _attribute(target, name)(*rest, **kwargs)
    if method == "of_class":
        name, *rest = args
        if name not in operations.OF_CLASS or not isinstance(target, type):
            raise AttributeError(f"the program may not call `{name}` of the test")
        return getattr(target, name)(*rest, **kwargs)
    if method == "__getattr__":
        return _attribute(target, *args)
    if method == "__setattr__":
        name, value = args
        return setattr(target, _settable(target, name), value)
    if method == "__delattr__":
        return delattr(target, _settable(target, *args))
    if method == "__deepcopy__":
        (token,) = args
        if token is None or peer.copies[0] != token:
            peer.copies = (token, {})
        return copy.deepcopy(target, peer.copies[1])
    if method == "new":
        return tuple.__new__(target, args[0]) if _is_record(target) else target(*args)
    if method == "derive" and isinstance(target, type):
        if not _is_of_text(target) or peer.numbers.get(id(target)) not in peer.handed:
            # The program requested the class of an object, which no test requires.
            raise TypeError(f"type '{target.__name__}' is not an acceptable base type")
        raise peer.unsupported(f"deriving from `{target.__name__}`, a class of the test,")
    if method in ("__call__", "run", "__copy__"):
        return operations.METHODS[method](target, *args, **kwargs)
    raise AttributeError(f"the program may not call `{method}` of the test")


def _special(target, name):
    if type(name) is not str or name not in operations.SPECIAL:
        raise AttributeError(f"the program may not call `{name}` of the test")
    for part in type(target).__mro__:
        if name in vars(part):
            method = vars(part)[name]
            bind = getattr(type(method), "__get__", None)
            return method if bind is None else bind(method, target, type(target))
    raise AttributeError(name)


def _attribute(target, name):
    """A public attribute."""
    if name == "__dict__":
        return {
            key: value
            for key, value in vars(target).items()
            if type(key) is str and not key.startswith("_")
        }
    if (
        type(name) is not str
        or name.startswith("_")
        or name in _CLOSED_NAMES
        and isinstance(target, type)
    ):
        raise _no_attribute(target, name)
    if isinstance(target, _RUNNING) and name not in _RUNNING_METHODS:
        raise _no_attribute(target, name)
    kind = target if isinstance(target, type) else type(target)
    if issubclass(kind, (unittest.TestCase, unittest.TestResult)) and hasattr(
        unittest.TestCase, name
    ):
        # These report the result of a test.
        raise _no_attribute(target, name)
    if issubclass(kind, unittest.mock.NonCallableMock) and name in _MOCK_SETTERS:
        raise _no_attribute(target, name)
    found = getattr(target, name)
    if issubclass(kind, string.Formatter) or _formats(found):
        # Formats can follow attributes of what they format, up to the test's own code.
        raise _no_attribute(target, name)
    return found


def _formats(method):
    """Whether something is `str.format` or `str.format_map`, bound or not."""
    owner = getattr(method, "__self__", None)
    named = getattr(method, "__name__", None) in ("format", "format_map")
    return (
        method in (str.format, str.format_map)
        or named
        and type(method) is types.BuiltinMethodType
        and isinstance(owner, str)
    )


def _no_attribute(target, name):
    return AttributeError(
        f"'{type(target).__name__}' object has no attribute '{name}'", name=str(name)
    )


def _settable(target, name):
    """The name, if the program may set it: data of the test's objects, but not the methods with
    which the test judges.
    """
    kind = target if isinstance(target, type) else type(target)
    if type(name) is not str or name.startswith("_") or isinstance(target, types.FunctionType):
        raise _no_attribute(target, name)
    if isinstance(target, unittest.mock.NonCallableMock):
        if name in _MOCK:
            raise AttributeError(f"`{name}` of a mock of the test cannot be set")
    elif not _is_of_text(kind) and not isinstance(target, functools.partial):
        raise _no_attribute(target, name)
    found = inspect.getattr_static(kind, name, None)
    if isinstance(
        found, (types.FunctionType, types.MethodType, staticmethod, classmethod, type)
    ) or (callable(found) and not hasattr(type(found), "__set__")):
        raise AttributeError(f"the method `{name}` of an object of the test cannot be replaced")
    return name
