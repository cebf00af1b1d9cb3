"""Operations on objects of the other instance, by method name."""

from . import isolation

isolation.own_builtins(globals())

import asyncio  # noqa: E402
import copy  # noqa: E402
import math  # noqa: E402
import operator  # noqa: E402
import os  # noqa: E402


def finish(awaitable):
    """Awaits something in a new event loop: the other instance may be waiting inside one of this
    instance's loops.
    """

    async def wait():
        return await awaitable

    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return asyncio.run(wait())
    finally:
        asyncio._set_running_loop(running)


METHODS = {
    "__call__": lambda thing, *args, **kwargs: thing(*args, **kwargs),
    "__getattr__": getattr,
    "__setattr__": setattr,
    "__delattr__": delattr,
    "__len__": len,
    "__iter__": iter,
    "__next__": next,
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__contains__": operator.contains,
    "__reversed__": reversed,
    "__str__": str,
    "__repr__": repr,
    "__format__": format,
    "__hash__": hash,
    "__bytes__": bytes,
    "__fspath__": os.fspath,
    "__length_hint__": operator.length_hint,
    "__dir__": dir,
    "__instancecheck__": lambda thing, other: isinstance(other, thing),
    "__subclasscheck__": lambda thing, other: issubclass(other, thing),
    "__enter__": lambda thing: type(thing).__enter__(thing),
    "__exit__": lambda thing, *how: type(thing).__exit__(thing, *how),
    "__aenter__": lambda thing: finish(type(thing).__aenter__(thing)),
    "__aexit__": lambda thing, *how: finish(type(thing).__aexit__(thing, *how)),
    "__aiter__": aiter,
    "__anext__": lambda thing: finish(anext(thing)),
    "__copy__": copy.copy,
    "__deepcopy__": lambda thing, memo=None: copy.deepcopy(thing),
    "run": finish,
}
# Operators on one object that return a number or a boolean.
NUMBERS = {
    "__bool__": bool,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": operator.index,
    "__abs__": abs,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__invert__": operator.invert,
    "__round__": round,
    "__trunc__": math.trunc,
    "__floor__": math.floor,
    "__ceil__": math.ceil,
}
# Operators on two objects.
_NAMES = "add sub mul truediv floordiv mod pow matmul xor lshift rshift".split()
OPERATORS = {f"__{name}__": getattr(operator, name) for name in _NAMES}
OPERATORS |= {"__and__": operator.and_, "__or__": operator.or_, "__divmod__": divmod}
OPERATORS |= {
    f"__r{name[2:]}": (lambda do: lambda thing, other: do(other, thing))(do)
    for name, do in list(OPERATORS.items())
}
_IN_PLACE = [f"__i{name}__" for name in [*_NAMES, "and", "or"]]
OPERATORS |= {name: getattr(operator, name) for name in _IN_PLACE}
COMPARISONS = {f"__{name}__": getattr(operator, name) for name in "eq ne lt le gt ge".split()}
METHODS |= NUMBERS | OPERATORS | COMPARISONS

# Methods of the data model that a stand-in has if the class defines them. Methods that create,
# delete or pickle an object are called only in the object's own instance.
SPECIAL = frozenset(METHODS) - {
    "run",
    "__getattr__",
    "__setattr__",
    "__delattr__",
    "__copy__",
    "__deepcopy__",
} | frozenset(
    "__missing__ __get__ __set__ __delete__ __await__ __buffer__ __getnewargs__ __mro_entries__".split()
)
# Special methods that are called on the class.
OF_CLASS = frozenset("__class_getitem__ __prepare__".split())
