"""Things that stay in their instance and are used from another: functions, classes, objects.

Both instances run this. Each keeps what it lent (`Peer.lent`) and answers requests about it; in the other a `Remote` stands in
its place and sends a request for whatever is done with it. Arguments are copied; what the callee did to lists, dictionaries and
sets it was given is copied back.
"""

from . import isolation

isolation.own_builtins(globals())

import operator  # noqa: E402

import _assay_host  # noqa: E402

from . import messages, values  # noqa: E402

_exchange = _assay_host.exchange

# Parts a value may have that crosses between instances.
ROOM = 5_000_000

# What a class can say that is done with a thing of it, by the method's name.
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
    "__bool__": bool,
    "__str__": str,
    "__repr__": repr,
    "__format__": format,
    "__hash__": hash,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": operator.index,
    "__abs__": abs,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__invert__": operator.invert,
    "__round__": round,
    "__add__": operator.add,
    "__sub__": operator.sub,
    "__mul__": operator.mul,
    "__truediv__": operator.truediv,
    "__floordiv__": operator.floordiv,
    "__mod__": operator.mod,
    "__pow__": operator.pow,
    "__matmul__": operator.matmul,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__xor__": operator.xor,
    "__lshift__": operator.lshift,
    "__rshift__": operator.rshift,
    "__divmod__": divmod,
    "__instancecheck__": lambda thing, other: isinstance(other, thing),
    "__subclasscheck__": lambda thing, other: issubclass(other, thing),
    "__enter__": lambda thing: type(thing).__enter__(thing),
    "__exit__": lambda thing, *how: type(thing).__exit__(thing, *how),
    "__await__": lambda thing: thing.__await__(),
    "send": lambda thing, value: thing.send(value),
}
REFLECTED = {
    f"__r{name[2:]}": (lambda do: lambda thing, other: do(other, thing))(METHODS[name])
    for name in (
        "__add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __matmul__ "
        "__and__ __or__ __xor__ __lshift__ __rshift__ __divmod__"
    ).split()
}
COMPARISONS = {f"__{name}__": getattr(operator, name) for name in "eq ne lt le gt ge".split()}
METHODS |= REFLECTED | COMPARISONS


class Ended(BaseException):
    """The other instance's program exited. Not an `Exception`: no test should catch it by chance."""


class Peer:
    """This instance's end: what it lent, how it asks and answers."""

    def __init__(self, op, may):
        # Name of the operation by which the other side asks, and what it may do with what was lent.
        self.op, self.may = op, may
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
        if name is not None:
            return {"$": "stdlib", "v": name}
        reference = {"$": "remote", "v": self.lend(value)}
        if isinstance(value, type) and issubclass(value, BaseException):
            reference["exception"] = ancestry(value)
        return reference

    # Asking.

    def ask(self, target, method, args=(), kwargs=None):
        packer = values.Packer(self.export, ROOM)
        request = {
            "op": self.op,
            "target": target,
            "method": method,
            "args": [packer.pack(argument, 1) for argument in args],
            "kwargs": {name: packer.pack(argument, 1) for name, argument in (kwargs or {}).items()},
        }
        reply, _ = messages.read(_exchange(messages.write(request)))
        unpacker = values.Unpacker(self.stand_in, packer.containers)
        for number, content in reply["changed"]:
            unpacker.fill(packer.containers[number], content)
        if "exited" in reply:
            raise Ended(reply["exited"])
        if "raised" in reply:
            raise self._exception(reply["raised"], values.Unpacker(self.stand_in))
        return unpacker.unpack(reply["value"])

    def stand_in(self, packed):
        if packed["$"] == "lent":
            return self.lent[packed["v"]]
        if packed["$"] != "remote":
            raise ValueError(f"a value of kind `{packed['$']}` cannot be read")
        if "exception" in packed:
            return self._exception_class(packed["v"], packed["exception"])
        number = packed["v"]
        if number not in self.stand_ins:
            self.stand_ins[number] = Remote(self, number)
        return self.stand_ins[number]

    def _exception_class(self, number, names):
        """A class of this instance in place of an exception class of the other: `except` takes nothing else."""
        if number not in self.exceptions:
            bases = [values.standard(*name) for name in names[1:]]
            base = next((base for base in bases if issubclass(base, BaseException)), Exception)
            self.exceptions[number] = type(names[0], (base,), {"__module__": "solution"})
        return self.exceptions[number]

    def _exception(self, raised, unpacker):
        kind = unpacker.unpack(raised["class"])
        try:
            error = kind(*map(unpacker.unpack, raised["args"]))
        except Exception:
            error = RuntimeError(raised["text"])
        error.__notes__ = [raised["text"]]
        error._assay_raised_by_program = True
        return error

    # Answering.

    def answer(self, header, _blobs):
        args, changed = [], []
        unpacker = values.Unpacker(self.stand_in)
        try:
            target = self.lent[header["target"]]
            args = list(map(unpacker.unpack, header["args"]))
            kwargs = {name: unpacker.unpack(argument) for name, argument in header["kwargs"].items()}
            given = unpacker.containers
            before = [_copy(container) for container in given]
            if not self.may(target, header["method"], args):
                raise AttributeError(f"`{header['method']}` of this is not for the program")
            value = METHODS[header["method"]](target, *args, **kwargs)
            packer = values.Packer(self.export, ROOM, given)
            changed = [
                [number, packer.content(container)]
                for number, container in enumerate(given)
                if not _same(container, before[number])
            ]
            if header["method"] == "plain":
                return messages.write({"changed": [], "value": value})
            return messages.write({"changed": changed, "value": packer.pack(value)})
        except SystemExit as exit:
            return messages.write({"changed": [], "exited": exit_status(exit)})
        except values.TooLong:
            raised = {"class": {"$": "stdlib", "v": ["builtins", "OverflowError"]}, "args": ["the value is too long"]}
            return messages.write({"changed": [], "raised": raised | {"text": "the value is too long"}})
        except BaseException as error:
            return messages.write({"changed": [], "raised": self._raised(error)})

    def _raised(self, error):
        packer = values.Packer(self.export, ROOM)
        try:
            args = [packer.pack(argument) for argument in error.args]
        except Exception:
            args = []
        return {"class": packer.pack(type(error)), "args": args, "text": describe(error)}


def plain(thing):
    """What stands in for `METHODS` when the plain value inside a thing is asked for."""
    return values.Packer(lambda packer, value, depth: {"$": "deep", "v": type(value).__name__}, ROOM).plain(thing)


METHODS["plain"] = plain


def ancestry(kind):
    """An exception class's name, and its standard ancestors."""
    ancestors = [values.standard_name(base) for base in kind.__mro__[1:]]
    return [kind.__name__, *(name for name in ancestors if name is not None)]


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
    if type(container) is dict:
        pairs = zip(container.items(), before.items())
        return all(key is key_before and held is held_before for (key, held), (key_before, held_before) in pairs)
    if type(container) is list:
        return all(map(operator.is_, container, before))
    return container == before


class Remote:
    """Stands in for a thing of the other instance."""

    __slots__ = ("_assay_peer", "_assay_number", "__weakref__")

    def __init__(self, peer, number):
        object.__setattr__(self, "_assay_peer", peer)
        object.__setattr__(self, "_assay_number", number)

    def __getattr__(self, name):
        return ask(self, "__getattr__", name)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal


def number_of(remote):
    return object.__getattribute__(remote, "_assay_number")


def ask(remote, method, *args, **kwargs):
    return object.__getattribute__(remote, "_assay_peer").ask(number_of(remote), method, args, kwargs)


def _forward(method):
    def forwarded(self, *args, **kwargs):
        return ask(self, method, *args, **kwargs)

    forwarded.__name__ = method
    return forwarded


def _compare(method, do):
    """Two things of the other instance are compared there. With a value of this one, only the plain value inside counts: what a
    program's `__eq__` says of an expected value is worth nothing."""

    def compared(self, other):
        if type(other) is Remote:
            return bool(ask(self, method, other))
        inside = ask(self, "plain")
        return NotImplemented if inside is None else do(inside, other)

    compared.__name__ = method
    return compared


for _method in METHODS:
    if _method in COMPARISONS:
        if _method != "__ne__":
            setattr(Remote, _method, _compare(_method, COMPARISONS[_method]))
    elif _method not in ("__getattr__", "plain", "send"):
        setattr(Remote, _method, _forward(_method))
