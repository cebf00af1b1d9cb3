"""Sessions: calls that share the namespace of `__main__`, as the cells of a notebook do."""

from . import isolation

isolation.own_builtins(globals())

import ast  # noqa: E402
import builtins  # noqa: E402
import linecache  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402
import warnings  # noqa: E402

from . import messages, program, remote  # noqa: E402

# Longest displayed value in characters. The rest is cut and counted.
DISPLAYED = 64 << 10

# The flag of code that awaits at the top level.
_COROUTINE = 0x80

_main = []


def call(header, blobs):
    """Runs the code of a call, and returns the value of its last expression, if that is not `None`
    and the code does not end with a semicolon.
    """
    if not _main:
        _main.append(_new_module())
    name = f"<call {header['number']}>"
    try:
        codes = _compiled(name, bytes(blobs[0]))
    except (SyntaxError, ValueError, MemoryError, RecursionError, UnicodeError) as error:
        return messages.write({"end": "raised", "message": remote.describe(error)})
    displayed = []
    how = program._guarded(lambda: _run(codes, _main[0].__dict__, displayed))
    program._guarded(program._flush)
    if how["end"] == "finished" and displayed:
        return messages.write({"end": "returned"}, displayed[0])
    return messages.write(how)


def _new_module():
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    sys.path[:] = [program.FOLDER]
    _seed_generators()
    return module


def _seed_generators():
    """Seeds the generators that were seeded in the image, from the seed of the session."""
    import random

    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def _compiled(name, source):
    """The code of a call: its statements, then its last expression if that is displayed."""
    text = source.decode()
    # Tracebacks and `inspect` quote the lines of earlier calls.
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source, name)
        last = None
        if tree.body and type(tree.body[-1]) is ast.Expr and not text.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        parts = [(tree, "exec")] + ([(last, "eval")] if last else [])
        return [
            compile(part, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True) for part, mode in parts
        ]


def _run(codes, namespace, displayed):
    for code in codes:
        value = eval(code, namespace)
        if code.co_flags & _COROUTINE:
            import asyncio

            value = asyncio.run(value)
    if len(codes) == 2 and value is not None:
        namespace["_"] = value
        text = repr(value)
        if len(text) > DISPLAYED:
            text = f"{text[:DISPLAYED]}… ({len(text) - DISPLAYED} more characters)"
        displayed.append(text.encode(errors="replace"))
