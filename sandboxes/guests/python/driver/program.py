"""The program's side: compiles, runs and calls the program."""

from . import isolation

isolation.own_builtins(globals())

import _imp  # noqa: E402
import atexit  # noqa: E402
import builtins  # noqa: E402
import gc  # noqa: E402
import marshal  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402
import warnings  # noqa: E402

from . import borrower, failures, messages, remote, values  # noqa: E402

# Maximum number of parts of a result, and maximum size of its text in bytes.
RESULT_ROOM = 2_000_000
RESULT_BYTES = 32 << 20

# File name of the prelude, the part of a program that the task provides.
PRELUDE = "prelude.py"

# The folder of the program's files. The test cannot import from it.
FOLDER = "/"

# The module, all of the program's code objects, and those that have not started yet.
loaded = []


def version(header, blobs):
    """The version of the language, and the top-level modules that programs may import."""
    found = set(sys.builtin_module_names) | {
        name.partition(".")[0] for name in _imp._frozen_module_names()
    }
    modules = sorted(name for name in found if not name.startswith("_"))
    return messages.write({"version": "CPython " + sys.version.split()[0], "modules": modules})


def compile_parts(header, blobs):
    """Compiles each part separately: after a prelude, a `from __future__` of the program would not
    be at the start of the file.
    """
    codes = []
    for name, text in zip(header["names"], blobs):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                codes.append(compile(bytes(text), name, "exec", dont_inherit=True))
        except (SyntaxError, ValueError, MemoryError, RecursionError, UnicodeError) as error:
            return messages.write({"end": "refused", "message": remote.describe(error)})
    texts = {name: bytes(text) for name, text in zip(header["names"], blobs)}
    return messages.write({"end": "compiled"}, marshal.dumps((codes, texts)))


def load(header, blobs):
    """Creates the module in which the program runs, and reads its code. The reply reports whether
    the code begins with a prelude.
    """
    module = types.ModuleType(header["module"])
    module.__builtins__ = builtins
    module.__file__ = "main.py"
    sys.modules[header["module"]] = module
    sys.path[:] = [FOLDER]
    if header["module"] == "__main__":
        sys.argv[:] = [module.__file__]
    codes, texts = marshal.loads(blobs[0])
    borrower.texts = texts
    if any(word in text for text in texts.values() for word in _OF_SOURCE):
        _write_sources(texts)
    loaded[:] = [module, codes, codes]
    reply = {"end": "finished"}
    if codes and codes[0].co_filename == PRELUDE:
        reply["prelude"] = True
    return messages.write(reply)


# Words in programs that read their own source.
_OF_SOURCE = (b"__file__", b"argv", b"getsource", b"linecache")


def _write_sources(texts):
    for name, text in texts.items():
        with open(f"{FOLDER}{name}", "wb") as file:
            file.write(text)


def prelude(header, blobs):
    """Runs the prelude before any code of the completion, so any failure is the task's fault."""
    module, codes, _ = loaded
    own = [code for code in codes if code.co_filename == PRELUDE]
    loaded[2] = codes[len(own) :]
    return messages.write(_guarded(lambda: _execute(own, module.__dict__)))


def main(header, blobs):
    """Runs the program as the interpreter would, until it finishes, exits or raises; then runs its
    exit handlers and finalizers.
    """
    module, _, codes = loaded
    how = _guarded(lambda: _execute(codes, module.__dict__))
    if module.__name__ == "__main__":
        how = _last_words(how, module)
    else:
        _flush()
    return messages.write(how)


def _execute(codes, namespace):
    for code in codes:
        exec(code, namespace)


def _last_words(how, module):
    """Runs exit handlers and finalizers of the program's objects, and flushes buffers."""
    ending = _guarded(atexit._run_exitfuncs)
    names = [name for code in loaded[1] for name in _names(code)]
    if "__del__" in names:
        ending = _worse(ending, _guarded(module.__dict__.clear))
        ending = _worse(ending, _guarded(gc.collect))
    return _worse(how, _worse(ending, _guarded(_flush)))


def _worse(first, second):
    return second if first["end"] == "finished" else first


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield constant.co_name
            yield from _names(constant)


def _flush():
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except (ValueError, AttributeError):
            # The program closed or detached the original, which the interpreter flushes only if it
            # is in use.
            pass


def _guarded(run):
    """Runs a part of the program and returns how it ended."""
    try:
        run()
        return {"end": "finished"}
    except SystemExit as exit:
        if type(exit.code) is str:
            _complain(exit.code + "\n")
        return {"end": "exited", "status": remote.exit_status(exit)}
    except BaseException as error:
        how = {"end": "raised", "message": _reported(error)}
        limit = failures.limit_of(error)
        if limit is not None:
            how["details"] = {"limit": {"cause": limit[0], "name": limit[1]}}
        return how


def _reported(error):
    text = remote.describe(error)
    _complain(text)
    return text


def _complain(text):
    try:
        sys.__stderr__.write(text)
        sys.__stderr__.flush()
    except BaseException:
        # A program may close its standard error, so the reply contains the message as well.
        pass


def find(module, name):
    """Finds a global function, or else a method of `Solution()`."""
    if hasattr(module, name):
        return getattr(module, name)
    if hasattr(module, "Solution"):
        solution = module.Solution()
        if hasattr(solution, name):
            return getattr(solution, name)
    raise NameError(f"the program defines neither `{name}` nor `Solution.{name}`")


def call(header, blobs):
    """Calls a function and serialises its result. Awaitable results are awaited."""
    args, kwargs = messages.loads(blobs[0].decode()), messages.loads(blobs[1].decode())
    result = []

    def run():
        value = find(loaded[0], header["function"])(*args, **kwargs)
        if isinstance(value, types.CoroutineType):
            import asyncio

            value = asyncio.run(value)
        result.append(value)

    how = _guarded(run)
    if how["end"] == "finished":
        how = _guarded(lambda: result.append(_written(result[0])))
        if how["end"] == "finished":
            return messages.write(
                {"end": "returned"} if result[1] else {"end": "too_long"}, result[1]
            )
    _guarded(_flush)
    return messages.write(how)


def _written(value):
    """A result as JSON text, or an empty text if it is too long."""
    try:
        text = messages.dumps(values.Packer(_opaque, RESULT_ROOM).pack(value)).encode()
    except values.TooLong:
        return b""
    return text if len(text) <= RESULT_BYTES else b""


def _opaque(packer, value, depth):
    """The form of an object that is not plain data: the plain value inside, or the name of its
    class.
    """
    inside = packer.plain(value, depth)
    return {"$": "object", "v": type(value).__qualname__} if inside is None else inside


# Requests of the judging instance.

peer = borrower.Borrower()


def answer_peer(header, blobs):
    if header["method"] == "names":
        namespace = loaded[0].__dict__
        return messages.write(
            _packed({name: namespace[name] for name in header["args"] if name in namespace})
        )
    if header["method"] == "module":
        return messages.write(_packed({"": loaded[0]}))
    reply = peer.answer(header)
    _guarded(_flush)
    return reply


def _packed(named):
    """A reply with values by name."""
    shared, packer = peer.shared, values.Packer(peer.export, RESULT_ROOM, peer.shared)
    reply = {"value": {name: packer.pack(value) for name, value in named.items()}}
    shared.send(reply, packer, ())
    return reply
