"""Stand-ins in the program's instance for objects of the test. Each behaves like the object that it
represents.

A class of the test has a class here with the same methods, each of which sends a request. So `while
node:` sends no request if the test's class defines neither `__bool__` nor `__len__`, and
`callable`, `isinstance` and `iter` give the same results as in the test.
"""

from . import isolation

isolation.own_builtins(globals())

import abc  # noqa: E402
import collections  # noqa: E402
import dataclasses  # noqa: E402
import enum  # noqa: E402
import types  # noqa: E402

from . import containers, functions, operations, values  # noqa: E402

_peer = None


def serve(peer):
    """Sets the end of the connection through which the stand-ins send requests."""
    global _peer
    _peer = peer


def ask(thing, method, *args, **kwargs):
    number = _peer.origins.get(id(thing))
    if number is not None:
        return _peer.ask(number, method, args, kwargs)
    # A value of a test's class that the program created: the test gets a copy for this request.
    return _peer.ask_about(thing, method, args, kwargs)


class LentType(abc.ABCMeta):
    """Metaclass of the classes that stand in for classes of the test."""

    def __new__(meta, name, bases, namespace, **options):
        if "_assay_lent" not in namespace:
            lent = next(base for base in bases if isinstance(base, LentType))
            ask(lent, "derive")
        del namespace["_assay_lent"]
        return super().__new__(meta, name, bases, namespace, **options)

    def __call__(cls, *args, **kwargs):
        return ask(cls, "__call__", *args, **kwargs)

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return ask(cls, "__getattr__", name)

    def __setattr__(cls, name, value):
        if name.startswith("_"):
            type.__setattr__(cls, name, value)
        else:
            ask(cls, "__setattr__", name, value)

    def __delattr__(cls, name):
        ask(cls, "__delattr__", name)

    @property
    def __mro__(cls):
        return tuple(part for part in type.__dict__["__mro__"].__get__(cls) if part is not Lent)

    @property
    def __bases__(cls):
        return tuple(
            part for part in type.__dict__["__bases__"].__get__(cls) if part is not Lent
        ) or (object,)

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


class Lent(metaclass=type):
    """Base class of all stand-ins for objects."""

    def __getattr__(self, name):
        return ask(self, "__getattr__", name)

    def __setattr__(self, name, value):
        ask(self, "__setattr__", name, value)

    def __delattr__(self, name):
        ask(self, "__delattr__", name)

    def __copy__(self):
        return ask(self, "__copy__")

    def __deepcopy__(self, memo):
        token = memo.setdefault("_assay", len(_peer.copies))
        _peer.copies.append(None) if token == len(_peer.copies) else None
        copied = memo[id(self)] = ask(self, "__deepcopy__", token)
        return copied

    def __reduce_ex__(self, protocol):
        # The test keeps a copy; the pickle contains its number.
        copied = ask(self, "__deepcopy__", None)
        number = _peer.origins.get(id(copied))
        return (_as_it_is, (copied,)) if number is None else (_restored, (number,))

    @property
    def __dict__(self):
        return ask(self, "__getattr__", "__dict__")


def _as_it_is(value):
    return value


def _restored(number):
    return ask(_peer.stand_ins[number], "__deepcopy__", None)


def _special(name):
    if name == "__await__":

        def special(self):
            return ask(self, "run")
            yield

    else:

        def special(self, /, *args, **kwargs):
            return ask(self, "special", name, *args, **kwargs)

    special.__name__ = special.__qualname__ = name
    return special


Lent.__dir__ = _special("__dir__")


def _method(name):
    def method(self, *args, **kwargs):
        return ask(self, "method", name, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method


def _of_class(name):
    def method(cls, *args, **kwargs):
        return ask(cls, "of_class", name, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method


def _namespace(told):
    namespace = {
        "__module__": told["module"],
        "__qualname__": told["qualname"],
        "__doc__": told["doc"],
    }
    for name, how in told["members"].items():
        if how == "n":
            namespace[name] = None
        elif how == "o":
            namespace[name] = classmethod(_of_class(name))
        elif how == "m":
            namespace[name] = _special(name) if name in operations.SPECIAL else _method(name)
        else:
            # The request goes to the class through which the method is called.
            namespace[name] = classmethod(_method(name))
    return namespace


def make_class(peer, unpacker, number, told):
    """The stand-in for a class of the test, from its description."""
    kind = told.get("kind")
    if kind == "record":
        return _record(unpacker, told)
    if kind == "enum":
        return _enumeration(peer, unpacker, told)
    namespace = _namespace(told) | {"_assay_lent": True}
    if told.get("generic") and "__class_getitem__" not in namespace:
        namespace["__class_getitem__"] = classmethod(types.GenericAlias)
    if told.get("match"):
        namespace["__match_args__"] = tuple(told["match"])
    if told.get("standard"):
        _taken_for(namespace, *told["standard"])
    bases = [unpacker.unpack(base) for base in told["bases"]]
    if not any(isinstance(base, LentType) for base in bases):
        bases.insert(0, Lent)
    bases = tuple(sorted(bases, key=lambda base: not issubclass(base, Lent)))
    meta = type(
        max(bases, key=lambda base: len(type.mro(type(base))) if isinstance(base, LentType) else 0)
    )
    meta = meta if issubclass(meta, LentType) else LentType
    if told.get("meta"):
        meta = type("LentType", (meta,), {name: _special(name) for name in told["meta"]})
    lent = meta(told["name"], bases, namespace)
    if "fields" in told:
        type.__setattr__(
            lent,
            "__dataclass_fields__",
            {name: _field(name, *how) for name, *how in told["fields"]},
        )
    # The test's instance checks whether abstract methods are missing.
    type.__setattr__(lent, "__abstractmethods__", frozenset())
    return lent


def _taken_for(namespace, module, name):
    """Makes `isinstance` accept instances as the standard class, by the technique of
    `unittest.mock`.
    """
    try:
        standard = values.standard(module, name)
    except Exception:
        return
    namespace["__class__"] = property(lambda self: standard)


def _field(name, init, keyword_only):
    field = dataclasses.field(init=init, kw_only=keyword_only)
    field.name, field.type, field._field_type = name, object, dataclasses._FIELD
    return field


def _record(unpacker, told):
    """A named tuple."""
    defaults = dict((name, unpacker.unpack(value)) for name, value in told["defaults"])
    fields = told["fields"]
    last = [defaults[name] for name in fields if name in defaults]
    record = collections.namedtuple(told["name"], fields, defaults=last)
    for name, value in _namespace(told).items():
        setattr(record, name, value)
    return record


def _enumeration(peer, unpacker, told):
    bases = tuple(values.standard(*base) for base in told["bases"]) or (enum.Enum,)
    meta = type(bases[-1])
    namespace = meta.__prepare__(told["name"], bases)
    for name, value in _namespace(told).items():
        namespace[name] = value
    for name, value, _ in told["values"]:
        namespace[name] = unpacker.unpack(value)
    namespace["__getattr__"] = _attribute_of_member
    enumeration = meta(told["name"], bases, namespace)
    for name, _, number in told["values"]:
        peer.remember(enumeration.__members__[name], number)
    return enumeration


def _attribute_of_member(self, name):
    if name.startswith("_"):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
    return ask(self, "__getattr__", name)


def make_object(peer, unpacker, packed):
    """The stand-in for an object of the test."""
    kind = unpacker.unpack(packed["class"])
    if packed["v"] in peer.stand_ins:
        # A member of an enumeration, created with its class.
        return peer.stand_ins[packed["v"]]
    if "flags" in packed:
        return kind(unpacker.unpack(packed["flags"]))
    if "inside" not in packed:
        return object.__new__(kind)
    container = containers.inside(kind)
    if container is not None:
        # Registered before it is filled: it may contain itself.
        made = container.base.__new__(kind)
        peer.remember(made, packed["v"])
        inside = packed["inside"]
        if container.base is collections.defaultdict:
            made.default_factory = None
        unpacker.container(container, inside, made)
        return made
    base = next(base for base in _VALUES if issubclass(kind, base))
    return base.__new__(kind, unpacker.unpack(packed["inside"]))


_VALUES = (int, float, complex, str, bytes, tuple, frozenset)


def value_of_class(value):
    """For a value of a test's class that the program created: the class's number and the plain
    value; `None` for others.
    """
    kind = type(value)
    number = _peer.origins.get(id(kind)) if _peer is not None else None
    if number is None:
        return None
    if isinstance(value, enum.Enum):
        return number, [value._value_]
    base = next((base for base in _VALUES if issubclass(kind, base)), None)
    return None if base is None else (number, [values.base_value(base, value)])


def make_exception(peer, number, reference):
    """Namespace of the stand-in for an exception class of the test."""

    def new(cls, *args, **kwargs):
        if peer.origins.get(id(cls)) == number:
            return ask(cls, "__call__", *args, **kwargs)
        return _builtin(cls).__new__(cls, *args)

    def init(self, *args, **kwargs):
        pass

    def attribute(self, name):
        thing = self.__dict__.get("_assay_number")
        if thing is None or name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return peer.ask(thing, "__getattr__", (name,))

    namespace = {
        "__module__": "__main__",
        "__new__": new,
        "__init__": init,
        "__getattr__": attribute,
        "_assay_class": True,
    }
    if reference.get("str"):

        def text(self):
            thing = self.__dict__.get("_assay_number")
            return (
                BaseException.__str__(self)
                if thing is None
                else peer.ask(thing, "special", ("__str__",))
            )

        namespace["__str__"] = text
    return namespace


def _builtin(cls):
    return next(
        base
        for base in cls.__mro__
        if "_assay_class" not in vars(base) and base.__module__ == "builtins"
    )


def make_function(packed):
    return functions.make(
        packed, lambda made: lambda args, kwargs: ask(made[0], "__call__", *args, **kwargs)
    )
