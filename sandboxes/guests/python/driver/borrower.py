"""The program's end of the connection with the judging instance, which it trusts."""

from . import isolation

isolation.own_builtins(globals())

import abc  # noqa: E402
import collections.abc  # noqa: E402
import enum  # noqa: E402
import inspect  # noqa: E402
import linecache  # noqa: E402
import numbers  # noqa: E402
import typing  # noqa: E402

from . import containers, failures, lent, library, remote, state, steps, values  # noqa: E402


class Borrower(remote.Peer):
    widest_exception = BaseException

    def __init__(self):
        super().__init__(1)
        # One entry for each deep copy that reached objects of the test.
        self.copies = []
        self._steps = steps.Steps()
        lent.serve(self)

    def export_own(self, packer, value, depth):
        made = library.arguments(value, data_only=True)
        if made is not None:
            return packer.made(*made, depth)
        of_text = lent.value_of_class(value)
        if of_text is not None:
            return {
                "$": "new",
                "v": of_text[0],
                "args": [packer.pack(argument, depth + 1) for argument in of_text[1]],
            }
        name = values.standard_name(value)
        if name is not None and may_be_named(value):
            return {"$": "stdlib", "v": name}
        if isinstance(value, type) and issubclass(value, BaseException):
            return failures.reference_to_class(self, packer, value, depth)
        if isinstance(value, type):
            return self._class(value)
        reference = {"$": "remote", "v": self.lend(value)}
        if type(value) is _COROUTINE:
            reference["coroutine"] = True
        elif (standard := values.class_name(type(value))) is not None:
            reference["standard"] = standard
        elif type(value).__module__ != "builtins":
            reference["class"] = self._class(type(value))
        return reference

    def _class(self, kind):
        names = [str(name)[:100] for name in (kind.__name__, kind.__qualname__, kind.__module__)]
        reference = {"$": "remote", "v": self.lend(kind), "names": names}
        base = next((base.__name__ for base in values.BASES if issubclass(kind, base)), None)
        return reference if base is None else reference | {"base": base}

    def do(self, target, method, args, kwargs):
        if method == "step":
            return self._steps.step(target, *args)
        if method == "source":
            return _source(target)
        if method == "belongs":
            module, name, of_class = args
            check = issubclass if of_class else isinstance
            return check(target, values.standard(module, name))
        return super().do(target, method, args, kwargs)

    def reference_to_theirs(self, unpacker, packed):
        tag, number = packed["$"], packed["v"]
        if tag == "class":
            return self.stand_in(
                number, lambda: lent.make_class(self, unpacker, number, packed["is"])
            )
        if tag == "function":
            return self.stand_in(number, lambda: lent.make_function(packed))
        if tag == "made":
            return library.make(number[0], unpacker.unpack(number[1]), False)
        if tag == "stdlib":
            return values.standard(*number)
        if tag == "bound":
            return getattr(unpacker.unpack(number), packed["name"])
        if tag == "remote" and "exception" in packed:
            return self.stand_in(number, lambda: failures.class_of(self, number, packed))
        if tag == "remote" and "coroutine" in packed:
            return self._run(number)
        if tag == "remote":
            return self.stand_in(number, lambda: lent.make_object(self, unpacker, packed))
        raise ValueError(f"a value of kind `{tag}` cannot be read")

    async def _run(self, number):
        """A coroutine of the test: awaiting it here runs it to completion there."""
        return self.ask(number, "run")

    def ask_about(self, thing, method, args, kwargs):
        """Sends a request about a value of a test's class that the program created, so that the
        test has no copy of it.
        """
        number, arguments = lent.value_of_class(thing)
        made = self.ask(number, "new", tuple(arguments))
        return self.ask(self.origins[id(made)], method, args, kwargs)

    # Exceptions.

    def exception_namespace(self, number, reference):
        return lent.make_exception(self, number, reference)

    def may_raise(self, kind, method):
        return True

    def new_exception(self, kind, args):
        return (
            lent._builtin(kind).__new__(kind, *args)
            if hasattr(kind, "_assay_class")
            else kind(*args)
        )

    def mark(self, error, raised):
        error._assay_number = raised["thing"]
        if "limit" in raised:
            error._assay_limit = tuple(raised["limit"])

    def told_of(self, error):
        try:
            details = str(error)
        except Exception:
            details = ""
        return {"details": details[:10_000], "text": failures.describe(error)}

    def take_events(self):
        return state.collector.take(self)

    def read_state(self, request, unpacker):
        if "state" in request:
            state.apply(request["state"], unpacker)


# The texts of the program, by file name.
texts = {}


def _source(thing):
    """The source of a function, a class or the module, and the number of its first line."""
    for name, text in texts.items():
        lines = bytes(text).decode(errors="replace").splitlines(True)
        linecache.cache[name] = (len(text), None, lines, name)
    lines, first = inspect.getsourcelines(thing)
    return "".join(lines), first


async def _nothing():
    pass


_coroutine = _nothing()
_COROUTINE = type(_coroutine)
_coroutine.close()


def may_be_named(thing):
    """Whether the test accepts this standard object from the program: modules, exceptions, classes
    of plain data and `typing` forms. Any other object could be called for its side effect in the
    judging instance.
    """
    if type(thing) is type(values):
        return True
    if not isinstance(thing, type):
        return values.is_typing_form(thing)
    if issubclass(thing, BaseException):
        return failures.is_ordinary(thing)
    return thing in DATA or thing in ABSTRACT


# Classes from which others derive. They have no instances.
ABSTRACT = frozenset(
    [abc.ABC, enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag]
    + [typing.Generic, typing.Protocol]
    + [getattr(module, name) for module in (collections.abc, numbers) for name in module.__all__]
)

DATA = frozenset(
    [
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        bytearray,
        list,
        tuple,
        dict,
        set,
        frozenset,
        range,
        slice,
        object,
        type(None),
    ]
    + list(containers.PLAIN)
    + list(values.MADE)
)
