"""Stand-ins for functions of the test. Each has the signature of the original, which currying and
`inspect` depend on.
"""

from . import isolation

isolation.own_builtins(globals())

import types  # noqa: E402

# Represents a default value, which only the test has.
_LEFT_OUT = type("_LeftOut", (), {"__repr__": lambda self: "..."})()

_VARARGS, _VARKW = 4, 8

# The flag of a code object by which `inspect` recognises coroutine functions.
_COROUTINE = 128

# Shape -> code object of a function of that shape.
_codes = {}


def _code(shape):
    positional_only, positional, keyword_only, flags, _, _ = shape
    names = [f"a{index}" for index in range(positional)]
    keywords = [f"k{index}" for index in range(keyword_only)]
    head = (
        [*names[:positional_only], "/", *names[positional_only:]]
        if positional_only
        else list(names)
    )
    if flags & _VARARGS:
        head.append("*rest")
    elif keywords:
        head.append("*")
    head += keywords + ["**named"] * bool(flags & _VARKW)
    rest, named = "rest" if flags & _VARARGS else "()", "named" if flags & _VARKW else "{}"
    text = (
        f"def make(send):\n def function({', '.join(head)}): return send(({''.join(name + ',' for name in names)}), "
        f"{rest}, ({''.join(name + ',' for name in keywords)}), {named})\n return function\n"
    )
    found = {}
    exec(compile(text, "<frozen _assay.functions>", "exec"), found)
    return next(part for part in found["make"].__code__.co_consts if type(part) is types.CodeType)


# The shapes of most callbacks are compiled before the snapshot of the image.
for _count in range(5):
    _codes[0, _count, 0, 0] = _code((0, _count, 0, 0, 0, ()))


def make(packed, asker):
    """A function of a described shape. `asker` is called with a list that will contain the
    function.
    """
    shape = packed["shape"]
    _, positional, keyword_only, _, defaults, keyword_defaults = shape
    key = tuple(shape[:4])
    code = _codes.get(key)
    if code is None:
        code = _codes[key] = _code(shape)
    names = packed["names"]
    made = []
    ask = asker(made)

    def send(args, rest, keywords, named):
        args = [*args]
        named = dict(named)
        for name, value in zip(names[positional:], keywords):
            if value is not _LEFT_OUT:
                named[name] = value
        if any(value is _LEFT_OUT for value in args):
            start = next(index for index, value in enumerate(args) if value is _LEFT_OUT)
            for name, value in zip(names[start:positional], args[start:]):
                if value is not _LEFT_OUT:
                    named[name] = value
            args = args[:start]
        return ask((*args, *rest), named)

    code = code.replace(
        co_varnames=tuple(names), co_name=packed["name"], co_qualname=packed["qualname"]
    )
    function = types.FunctionType(
        code,
        {"__name__": "__main__"},
        packed["name"],
        (_LEFT_OUT,) * defaults or None,
        (types.CellType(send),),
    )
    function.__qualname__, function.__doc__ = packed["qualname"], packed["doc"]
    if keyword_defaults:
        function.__kwdefaults__ = {name: _LEFT_OUT for name in keyword_defaults}
    made.append(Function(function, packed))
    return made[0]


class Function:
    """Looks like a function, except that it has no globals."""

    __slots__ = ("_like", "_coroutine", "__dict__", "__weakref__")

    def __init__(self, like, packed):
        self._like, self._coroutine = like, packed["coroutine"]
        self.__dict__.update(
            __name__=packed["name"],
            __qualname__=packed["qualname"],
            __doc__=packed["doc"],
            __module__="__main__",
            __annotations__={},
            __type_params__=(),
        )

    __class__ = property(lambda self: types.FunctionType)
    __defaults__ = property(lambda self: self._like.__defaults__)
    __kwdefaults__ = property(lambda self: self._like.__kwdefaults__)

    @property
    def __code__(self):
        code = self._like.__code__
        return code.replace(co_flags=code.co_flags | _COROUTINE) if self._coroutine else code

    def __call__(self, /, *args, **kwargs):
        return self._like(*args, **kwargs)

    def __get__(self, thing, kind=None):
        return self if thing is None else types.MethodType(self, thing)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot pickle the function `{self.__qualname__}` of the test")

    def __repr__(self):
        return f"<function {self.__qualname__} at {id(self):#x}>"
