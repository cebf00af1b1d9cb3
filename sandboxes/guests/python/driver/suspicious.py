"""Stand-ins in the judging instance for things of the program, which may be in an attacker's hands."""

from . import isolation

isolation.own_builtins(globals())

from . import operations  # noqa: E402


class Remote:
    """Stands in for a thing of the program's instance."""

    __slots__ = ("_assay_peer", "_assay_number", "_assay_tainted", "__weakref__")

    def __init__(self, peer, number, tainted=False):
        object.__setattr__(self, "_assay_peer", peer)
        object.__setattr__(self, "_assay_number", number)
        object.__setattr__(self, "_assay_tainted", tainted)

    def __getattr__(self, name):
        return ask(self, "__getattr__", name)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal

    def __mro_entries__(self, bases):
        raise TypeError("a class of the program cannot be derived from in a test; derive from it in the prelude")


def number_of(remote):
    return object.__getattribute__(remote, "_assay_number")


def ask(remote, method, *args, **kwargs):
    return object.__getattribute__(remote, "_assay_peer").ask(number_of(remote), method, args, kwargs)


def _refused(remote, text):
    return object.__getattribute__(remote, "_assay_peer").refusal(TypeError(text))


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
        if type(other) is Remote:
            return bool(ask(self, method, other))
        inside = ask(self, "plain")
        return NotImplemented if inside is None else do(inside, other)

    return compared


def _operate(do, method):
    """Arithmetic with a value of this instance is done on the plain value inside. Without one the other instance may answer with
    a thing of its own, as vectors do; a plain answer could be made up to please, so it counts for nothing."""

    def operated(self, other, *rest):
        if type(other) is Remote:
            return ask(self, method, other, *rest)
        inside = ask(self, "plain")
        if inside is not None:
            return do(inside, other, *rest)
        result = ask(self, method, other, *rest)
        if type(result) is not Remote:
            raise _refused(self, f"`{method}` of the program's own class with a value of the test gives no thing of its own")
        return Remote(object.__getattribute__(self, "_assay_peer"), number_of(result), tainted=True)

    return operated


def _number(do, method):
    """A number from one thing; from the result of arithmetic with a value of this instance only the plain value inside."""

    def converted(self, *args):
        inside = ask(self, "plain")
        if inside is not None:
            return do(inside, *args)
        if object.__getattribute__(self, "_assay_tainted"):
            raise _refused(self, f"`{method}` of what the program's own class made of a value of the test")
        return ask(self, method, *args)

    return converted


# Otherwise that of this class would be found.
Remote.__doc__ = property(lambda self: ask(self, "__getattr__", "__doc__"))

_ASYNC = ("__anext__", "__aenter__", "__aexit__")

for _method, _do in operations.METHODS.items():
    if _method in operations.COMPARISONS:
        if _method != "__ne__":
            setattr(Remote, _method, _compare(_do, _method))
    elif _method in operations.OPERATORS:
        setattr(Remote, _method, _operate(_do, _method))
    elif _method in operations.NUMBERS:
        setattr(Remote, _method, _number(_do, _method))
    elif _method in _ASYNC:
        setattr(Remote, _method, _forward_async(_method))
    elif _method not in ("__getattr__", "run"):
        setattr(Remote, _method, _forward(_method))
