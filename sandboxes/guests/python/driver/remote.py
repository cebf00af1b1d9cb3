"""Things that stay in their instance and are used from another: functions, classes, objects.

Both instances run this. Each keeps what it lent (`Peer.lent`) and answers requests about it; in the other a `Remote` stands in
its place and sends a request for whatever is done with it. Arguments are copied; what the callee did to lists, dictionaries and
sets it was given is copied back.
"""

from . import isolation

isolation.own_builtins(globals())

import asyncio  # noqa: E402
import collections  # noqa: E402
import copy  # noqa: E402
import inspect  # noqa: E402
import operator  # noqa: E402

import _assay_host  # noqa: E402

from . import messages, values  # noqa: E402

_exchange = _assay_host.exchange

# Parts a value may have that crosses between instances.
ROOM = 2_000_000

# What can be done with a thing that was lent, by the name of the method that stands for it.
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
    "__instancecheck__": lambda thing, other: isinstance(other, thing),
    "__subclasscheck__": lambda thing, other: issubclass(other, thing),
    "__enter__": lambda thing: type(thing).__enter__(thing),
    "__exit__": lambda thing, *how: type(thing).__exit__(thing, *how),
    "__copy__": copy.copy,
    "__deepcopy__": lambda thing, memo=None: copy.deepcopy(thing),
    "run": lambda thing: asyncio.run(thing),
}
# Operators on one thing that give a number or a truth.
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
}
# Operators on two.
OPERATORS = {
    f"__{name}__": getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul xor lshift rshift".split()
}
OPERATORS |= {"__and__": operator.and_, "__or__": operator.or_, "__divmod__": divmod}
OPERATORS |= {
    f"__r{name[2:]}": (lambda do: lambda thing, other: do(other, thing))(do) for name, do in list(OPERATORS.items())
}
OPERATORS |= {
    f"__{name}__": getattr(operator, name)
    for name in "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift".split()
}
COMPARISONS = {f"__{name}__": getattr(operator, name) for name in "eq ne lt le gt ge".split()}
METHODS |= NUMBERS | OPERATORS | COMPARISONS


class Ended(SystemExit):
    """The program exited. A text that expects it may catch it as what it is."""


class Peer:
    """This instance's end: what it lent, how it asks and answers.

    `may` says what the other side may do with what it was lent. `trusted` says whether the other side's word is taken for what a
    standard thing is: the program takes the text's, the text takes the program's only for modules and exceptions.
    """

    def __init__(self, may, trusted):
        self.may, self.trusted = may, trusted
        self.busy = False
        self.lent, self.numbers = [], {}
        self.stand_ins, self.exceptions = {}, {}

    # Lending.

    def lend(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.lent)
            self.lent.append(value)
        return number

    def export(self, packer, value, depth):
        """How a value that is no plain data leaves: by its name, as itself if it came from there, or as a reference."""
        if type(value) is Remote:
            return {"$": "lent", "v": number_of(value)}
        name = values.standard_name(value)
        if name is not None and (not self.trusted or may_be_named(value)):
            return {"$": "stdlib", "v": name}
        reference = {"$": "remote", "v": self.lend(value)}
        if isinstance(value, type) and issubclass(value, BaseException):
            reference["exception"] = value.__name__
            reference["bases"] = [packer.pack(base, depth + 1) for base in value.__bases__ if base is not object]
        elif inspect.iscoroutine(value):
            reference["coroutine"] = True
        return reference

    # Asking.

    def ask(self, target, method, args=(), kwargs=None):
        packer = values.Packer(self.export, ROOM)
        request = {
            "op": "peer",
            "target": target,
            "method": method,
            "args": [packer.pack(argument, 1) for argument in args],
            "kwargs": {name: packer.pack(argument, 1) for name, argument in (kwargs or {}).items()},
        }
        reply, _ = messages.read(_exchange(messages.write(request)))
        unpacker = values.Unpacker(self.reference, packer.containers)
        for number, content in reply["changed"]:
            unpacker.fill(packer.containers[number], content)
        if "exited" in reply:
            raise Ended(int(reply["exited"]))
        if "raised" in reply:
            raise self._exception(reply["raised"], method)
        return unpacker.unpack(reply["value"])

    def reference(self, packed):
        """What stands here for a thing that is no data."""
        tag, value = packed["$"], packed["v"]
        if tag == "lent":
            return self.lent[value]
        if tag == "stdlib":
            thing = values.standard(*value)
            if self.trusted or may_be_named(thing):
                return thing
        if tag == "remote" and type(value) is int:
            if "exception" in packed:
                return self._exception_class(value, packed)
            if value not in self.stand_ins:
                self.stand_ins[value] = Remote(self, value)
            stand_in = self.stand_ins[value]
            return _run(stand_in) if "coroutine" in packed else stand_in
        raise ValueError(f"a value of kind `{tag}` cannot be read")

    def _exception_class(self, number, packed):
        """A class of this instance in place of an exception class of the other: `except` takes nothing else."""
        if number not in self.exceptions:
            bases = tuple(map(self.reference, packed["bases"]))
            if not bases or not all(isinstance(base, type) and issubclass(base, Exception) for base in bases):
                bases = (Exception,)
            name = str(packed["exception"])
            try:
                kind = type(name, bases, dict(_EXCEPTION))
            except TypeError:
                kind = type(name, (Exception,), dict(_EXCEPTION))
            self.exceptions[number] = kind
        return self.exceptions[number]

    def _exception(self, raised, method):
        unpacker = values.Unpacker(self.reference)
        kind = unpacker.unpack(raised["class"])
        ends_loops = isinstance(kind, type) and issubclass(kind, (StopIteration, StopAsyncIteration))
        if not (isinstance(kind, type) and issubclass(kind, Exception)) or ends_loops and method != "__next__":
            # Out of a call, the end of an iteration would end a loop of the test as if there were nothing more to check.
            kind = RuntimeError
        try:
            error = kind(*map(unpacker.unpack, raised["args"]))
        except Exception:
            error = RuntimeError(str(raised["text"]))
        error._assay_raised_by_program = True
        error._assay_text = str(raised["told"])
        if "thing" in raised:
            error._assay_thing = unpacker.unpack(raised["thing"])
        error.__notes__ = [str(raised["text"])]
        return error

    # Answering.

    def answer(self, header):
        args, changed = [], []
        unpacker = values.Unpacker(self.reference)
        try:
            target, method = self.lent[header["target"]], header["method"]
            args = list(map(unpacker.unpack, header["args"]))
            kwargs = {name: unpacker.unpack(argument) for name, argument in header["kwargs"].items()}
            given = unpacker.containers
            before = [_copy(container) for container in given]
            if not self.may(target, method, args):
                raise AttributeError(f"`{method}` of this is not for the program")
            packer = values.Packer(self.export, ROOM, given)
            if method == "plain":
                return messages.write({"changed": [], "value": packer.plain(target)})
            value = METHODS[method](target, *args, **kwargs)
            changed = [
                [number, packer.content(container)]
                for number, container in enumerate(given)
                if not _same(container, before[number])
            ]
            return messages.write({"changed": changed, "value": packer.pack(value)})
        except SystemExit as exit:
            return messages.write({"changed": [], "exited": exit_status(exit)})
        except BaseException as error:
            return messages.write({"changed": [], "raised": self._raised(error)})

    def _raised(self, error):
        packer = values.Packer(self.export, ROOM)
        try:
            # Some standard exceptions are made from more than their `args`.
            own = values.standard_name(type(error)) is None
            args = error.args if own else error.__reduce__()[1]
            raised = {"class": packer.pack(type(error)), "args": [packer.pack(argument) for argument in args]}
        except Exception:
            raised = {"class": packer.pack(RuntimeError), "args": []}
        try:
            told = str(error)
        except Exception:
            told = ""
        raised |= {"told": told[:10_000], "text": describe(error)}
        if values.standard_name(type(error)) is None:
            raised["thing"] = {"$": "remote", "v": self.lend(error)}
        return raised


# Modules whose exceptions mean something to a text. Others could end a test runner as if all were well.
EXCEPTIONS = frozenset(
    "builtins json.decoder decimal statistics zlib binascii struct re queue _queue asyncio.exceptions graphlib dataclasses "
    "concurrent.futures._base configparser _csv tomllib _pickle pickle copy enum socket uuid zipfile".split()
)


def may_be_named(thing):
    """Whether the text takes a standard thing by the program's word: modules, exceptions and classes of plain data. Anything else
    could be called for what it does here."""
    if type(thing) is type(operator):
        return True
    if not isinstance(thing, type):
        return False
    if issubclass(thing, BaseException):
        return issubclass(thing, Exception) and thing.__module__ in EXCEPTIONS
    return thing in DATA


DATA = frozenset(
    [bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, object, type(None)]
    + list(values.CONTAINERS)
    + list(values.MADE)
)


def _exception_text(self):
    return getattr(self, "_assay_text", None) or Exception.__str__(self)


def _exception_attribute(self, name):
    thing = self.__dict__.get("_assay_thing")
    if thing is None or name.startswith("_assay"):
        raise AttributeError(name)
    return getattr(thing, name)


_EXCEPTION = {"__module__": "solution", "__str__": _exception_text, "__getattr__": _exception_attribute}


async def _run(remote):
    """A coroutine of the other instance: it runs there, to its end, when it is awaited here."""
    return ask(remote, "run")


def exit_status(exit):
    code = exit.code
    return code if type(code) is int else 0 if code is None else 1


def describe(error):
    """An exception as Python prints it, the program's own lines only."""
    import traceback

    try:
        text = "".join(traceback.format_exception(type(error), error, _own(error.__traceback__), limit=-20))
    except Exception:
        text = type(error).__name__
    return text[-4000:]


def _own(trace):
    """The trace from where the program's code begins: frames of the driver come first and say nothing."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith("<frozen _assay"):
        trace = trace.tb_next
    return trace


def _copy(container):
    return bytes(container) if type(container) is bytearray else container.copy()


def _same(container, before):
    """Whether a container holds the very things it held. Contained containers are looked at by themselves."""
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        pairs = zip(container.items(), before.items())
        return all(key is key_before and held is held_before for (key, held), (key_before, held_before) in pairs)
    if type(container) in (list, collections.deque):
        return all(map(operator.is_, container, before))
    return container == before


class Remote:
    """Stands in for a thing of the other instance."""

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


def _forward(method):
    def forwarded(self, *args, **kwargs):
        return ask(self, method, *args, **kwargs)

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
            raise TypeError(f"`{method}` of the program's own class with a value of the test gives no thing of its own")
        return Remote(object.__getattribute__(self, "_assay_peer"), number_of(result), tainted=True)

    return operated


def _number(do, method):
    """A number from one thing; from the result of arithmetic with a value of this instance only the plain value inside."""

    def converted(self, *args):
        inside = ask(self, "plain")
        if inside is not None:
            return do(inside, *args)
        if object.__getattribute__(self, "_assay_tainted"):
            raise TypeError(f"`{method}` of what the program's own class made of a value of the test")
        return ask(self, method, *args)

    return converted


for _method, _do in METHODS.items():
    if _method in COMPARISONS:
        if _method != "__ne__":
            setattr(Remote, _method, _compare(_do, _method))
    elif _method in OPERATORS:
        setattr(Remote, _method, _operate(_do, _method))
    elif _method in NUMBERS:
        setattr(Remote, _method, _number(_do, _method))
    elif _method not in ("__getattr__", "run"):
        setattr(Remote, _method, _forward(_method))
