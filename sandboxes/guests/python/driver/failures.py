"""Exceptions: how they are sent between instances, and how they are described.

An exception that returns to the instance that raised it is the same object again. An exception of a
class that the other instance defines becomes an instance of a class created here, because `except`
accepts only exception classes.
"""

from . import isolation

isolation.own_builtins(globals())

from . import values  # noqa: E402

# Modules whose exceptions a test may expect. Exceptions of others could end a test runner as if the
# test had passed.
EXCEPTIONS = set(
    "builtins json.decoder decimal statistics zlib binascii struct re queue _queue asyncio.exceptions graphlib dataclasses "
    "concurrent.futures._base configparser _csv tomllib _pickle pickle copy enum socket uuid zipfile".split()
)


def is_ordinary(kind):
    """Whether the test accepts this exception class from the program."""
    return issubclass(kind, Exception) and kind.__module__ in EXCEPTIONS


class Raised:
    """Exceptions that were sent to the other instance. Only the last few are kept, because each
    keeps its frames alive.
    """

    KEPT = 64

    def __init__(self):
        self._errors, self._count = {}, 0

    def add(self, error):
        """Adds an exception and returns its number, which is negative: lent objects have numbers
        from 0.
        """
        self._count += 1
        self._errors[-self._count] = error
        self._errors.pop(self.KEPT - self._count, None)
        return -self._count

    def get(self, number):
        return self._errors.get(number)


def packed(peer, error):
    """The message form of an exception for the other instance."""
    packer = values.Packer(peer.export, 10_000, peer.nothing_shared())
    if (theirs := peer.number_of_theirs(error)) is not None:
        return {"same": theirs}
    kind = type(error)
    own = values.standard_name(kind) is None
    try:
        # Some standard exceptions are constructed from more than their `args`.
        args = error.args if own else error.__reduce__()[1]
        raised = {"class": packer.pack(kind), "args": [packer.pack(argument) for argument in args]}
    except Exception:
        # The packer may have reached its limit.
        packer = values.Packer(peer.export, 10_000, peer.nothing_shared())
        raised = {
            "class": packer.pack(RuntimeError if own else kind),
            "args": [] if own else [str(error)[:1000]],
        }
    raised["thing"] = peer.lend(error) if own else peer.raised.add(error)
    raised |= peer.told_of(error)
    limit = limit_of(error)
    if limit is not None:
        raised["limit"] = limit
    return raised


def unpacked(peer, raised, method):
    """An exception of the other instance as one of this instance. `method` is the method of the
    request; only `__next__` and `__anext__` may end a loop.
    """
    if "same" in raised:
        error = peer.own_exception(raised["same"])
        if isinstance(error, (StopIteration, StopAsyncIteration)) and not peer.may_raise(
            type(error), method
        ):
            error = peer.refusal(RuntimeError(f"the program raised {type(error).__name__}"))
        return error
    unpacker = values.Unpacker(peer.reference, peer.nothing_shared())
    kind = unpacker.unpack(raised["class"])
    if not (
        isinstance(kind, type) and issubclass(kind, BaseException) and peer.may_raise(kind, method)
    ):
        kind = RuntimeError
    try:
        error = peer.new_exception(kind, [unpacker.unpack(argument) for argument in raised["args"]])
    except Exception:
        error = RuntimeError(str(raised.get("text", "")))
    peer.mark(error, raised)
    return error


def class_of(peer, number, reference):
    """A class of this instance that represents an exception class of the other."""
    bases = tuple(map(peer.unpacker().unpack, reference["bases"]))
    if not bases or not all(
        isinstance(base, type) and issubclass(base, peer.widest_exception) for base in bases
    ):
        bases = (Exception,)
    name, namespace = str(reference["exception"]), peer.exception_namespace(number, reference)
    try:
        return type(name, bases, namespace)
    except TypeError:
        return type(name, (Exception,), namespace)


def reference_to_class(peer, packer, kind, depth):
    """The message form of an exception class that is not in the standard library."""
    bases = [packer.pack(base, depth + 1) for base in kind.__bases__ if base is not object]
    reference = {"$": "remote", "v": peer.lend(kind), "exception": kind.__name__, "bases": bases}
    if kind.__str__ not in (BaseException.__str__, KeyError.__str__, OSError.__str__):
        reference["str"] = True
    return reference


def limit_of(error):
    """Cause and name of the sandbox limit that raised the exception or one in its chain, or
    `None`.
    """
    for _ in range(20):
        if error is None:
            return None
        try:
            limit = error._assay_limit
            if (
                type(limit) is tuple
                and len(limit) == 2
                and all(type(part) is str for part in limit)
            ):
                return [part[:100] for part in limit]
        except BaseException:
            pass
        if (
            type(error) is ModuleNotFoundError
            and type(error.name) is str
            and not _in_image(error.name)
        ):
            return ["module", error.name.partition(".")[0][:100]]
        error = error.__cause__ or error.__context__
    return None


def _in_image(name):
    import _imp
    import sys

    top = name.partition(".")[0]
    return top in sys.modules or top in sys.builtin_module_names or _imp.is_frozen(top)


def exit_status(exit):
    """The status of a process that ends with this `SystemExit`."""
    code = exit.code
    if not isinstance(code, int):
        return 0 if code is None else 1
    # Outside of a C `long`, the interpreter exits with -1.
    return int(code) & 0xFF if -values.SMALL <= code < values.SMALL else 0xFF


def exit_code(exit):
    """What a test sees as the code of a `SystemExit` of the program."""
    code = exit.code
    if code is None or type(code) is str:
        return code and code[:10_000]
    return int(code) if isinstance(code, int) else 1


def describe(error):
    """An exception as Python prints it, without the first frames, which belong to the driver."""
    import traceback

    try:
        text = "".join(
            traceback.format_exception(
                type(error), error, own_trace(error.__traceback__), limit=-20
            )
        )
    except Exception:
        text = type(error).__name__
    return text[-4000:].encode(errors="replace").decode()


def is_driver(code):
    return code.co_filename.startswith("<frozen _assay")


def own_trace(trace):
    """The traceback from the first frame of the program's code: the driver's frames come before
    it.
    """
    while trace is not None and is_driver(trace.tb_frame.f_code):
        trace = trace.tb_next
    return trace
