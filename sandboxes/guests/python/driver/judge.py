"""The judging side: runs a text that asserts, in which the program's names are references into another instance.

The program's instance may be in an attacker's hands. It can answer a call with whatever data it likes; it cannot see this
instance. Functions and objects of the text may be lent to the program as arguments: it may call them and use what their class
defines, and cannot reach frames, code or globals through them.
"""

from . import isolation

isolation.own_builtins(globals())

import builtins  # noqa: E402
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
    return method in remote.METHODS and method not in ("__subclasscheck__",)


def _is_of_text(target):
    """Whether the target is an object of a class the text defines; functions, generators and frames are not."""
    return getattr(type(target), "__module__", None) == MODULE and not isinstance(target, type)


peer = remote.Peer("peer", _may)


def answer_peer(header, blobs):
    return peer.answer(header, blobs)


def judge(header, blobs):
    setup, text = (bytes(blob) for blob in blobs)
    try:
        codes = [compile(setup, "setup.py", "exec"), compile(text, "test.py", "exec")]
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return messages.write({"end": "unjudgeable", "message": remote.describe(error)})
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    # The program's names first, so that what the text defines takes their place.
    module.__dict__.update(_theirs(codes), __builtins__=builtins)
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


def _theirs(codes):
    """The program's names that the text uses. Builtins stay this instance's own, unless the text takes nothing else from the
    program: then it tests a function that is named like a builtin."""
    used = sorted({name for code in codes for name in _names(code)})
    request = {"op": "peer", "target": 0, "method": "names", "args": used, "kwargs": {}}
    reply, _ = messages.read(remote._exchange(messages.write(request)))
    unpacker = values.Unpacker(peer.stand_in)
    found = {name: unpacker.unpack(packed) for name, packed in reply["value"].items()}
    stored = {name for code in codes for name in _stored(code)}
    own = {name: value for name, value in found.items() if not hasattr(builtins, name)}
    tested = {name for name, value in own.items() if name not in stored and type(value) is not types.ModuleType}
    return own if tested else found


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield from _names(constant)


def _stored(code):
    """Names the text itself gives a value at its top."""
    import dis

    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_NAME", "STORE_GLOBAL"):
            yield instruction.argval
