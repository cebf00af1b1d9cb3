"""The judging side: runs a text that asserts, in which the program's names are references into another instance.

The program's instance may be in an attacker's hands. It can answer a call with whatever data it likes; it cannot see this
instance. Functions and objects of the text may be lent to the program as arguments: it may call them and use what their class
defines, and cannot reach frames, code or globals through them.
"""

from . import isolation

isolation.own_builtins(globals())

import ast  # noqa: E402
import builtins  # noqa: E402
import dis  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402

from . import messages, remote, values  # noqa: E402


# The module the text runs in: test runners look for its classes there.
MODULE = "__main__"


def _may(target, method, args):
    """What the program may do with what the text lent it."""
    if method in ("__setattr__", "__delattr__", "__getattr__"):
        name = args[0] if args else ""
        return type(name) is str and not name.startswith("_") and _is_of_text(target)
    return method in remote.METHODS


def _is_of_text(target):
    """Whether the target is an object of a class the text defines; functions, generators and frames are not."""
    return getattr(type(target), "__module__", None) == MODULE and not isinstance(target, type)


peer = remote.Peer(_may, trusted=False)


def judge(header, blobs):
    setup, text = (bytes(blob) for blob in blobs)
    try:
        codes = [compile(setup, "setup.py", "exec"), compile(text, "test.py", "exec")]
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return messages.write({"end": "unjudgeable", "message": remote.describe(error)})
    peer.busy = True
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    # The program's names first, so that what the text defines takes their place.
    module.__dict__.update(_theirs(codes, (setup, text)), __builtins__=builtins)
    try:
        for code in codes:
            exec(code, module.__dict__)
        return messages.write({"end": "finished"})
    except remote.Ended as ended:
        return messages.write({"end": "exited", "status": ended.args[0]})
    except SystemExit as exit:
        # The text's own: test runners end so.
        status = remote.exit_status(exit)
        return messages.write({"end": "refuted" if status else "finished", "message": f"the test exits with status {status}"})
    except AssertionError as error:
        raised_there = getattr(error, "_assay_raised_by_program", False)
        return messages.write({"end": "raised" if raised_there else "refuted", "message": remote.describe(error)})
    except BaseException as error:
        return messages.write({"end": "raised", "message": remote.describe(error)})


def _theirs(codes, texts):
    """The program's names that the text uses: what it tests."""
    used = sorted({name for code in codes for name in _names(code)})
    request = {"op": "peer", "target": 0, "method": "names", "args": used, "kwargs": {}}
    reply, _ = messages.read(remote._exchange(messages.write(request)))
    unpacker = values.Unpacker(peer.reference)
    found = {name: unpacker.unpack(reply["value"][name]) for name in used if name in reply["value"]}
    looked_into = _looked_into(codes) & sys.stdlib_module_names
    tested = _tested_builtin(texts, found.keys() - looked_into)
    for name in list(found):
        if hasattr(builtins, name) and name != tested:
            del found[name]
        elif name in looked_into:
            # A module's parts are asked for: a thing of the program in its place would answer as it likes.
            found[name] = values.standard(name, "")
    return found


def _tested_builtin(texts, found):
    """The one function named like a builtin that the text tests: the innermost that it calls, if it uses no other name of the
    program. All other builtins stay this instance's own."""
    calls = []

    def walk(node, depth):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in found:
            calls.append((depth, node.func.id))
        for child in ast.iter_child_nodes(node):
            walk(child, depth + 1)

    for text in texts:
        walk(ast.parse(text), 0)
    if not all(hasattr(builtins, name) for name in found):
        return None
    if calls:
        return max(calls)[1]
    return next(iter(found)) if len(found) == 1 else None


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield from _names(constant)


def _looked_into(codes):
    """Names of which the text asks for a part, as in `math.isclose`."""
    looked = set()
    for code in codes:
        last = None
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and last is not None:
                looked.add(last)
            last = instruction.argval if instruction.opname in ("LOAD_NAME", "LOAD_GLOBAL") else None
        looked |= _looked_into(constant for constant in code.co_consts if type(constant) is types.CodeType)
    return looked
