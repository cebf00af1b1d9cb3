"""The judging side: runs a test with asserts, in which the program's names are references into
another instance.

The program's instance may be under an attacker's control. It can answer a call with any data, but
cannot see this instance. Functions and objects of the test may be lent to the program as arguments.
The program may call them and use what their class defines, but cannot reach frames, code or globals
through them.

An exception is the program's fault if a request to the program raised it, and otherwise the test's
fault, whatever the program reports. The test is always at fault if it fails before it has used
anything of the program, or imports a module that the image lacks.
"""

from . import isolation

isolation.own_builtins(globals())

import _imp  # noqa: E402
import ast  # noqa: E402
import asyncio  # noqa: E402
import builtins  # noqa: E402
import inspect  # noqa: E402
import marshal  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402
import typing  # noqa: E402
import unittest.mock  # noqa: E402
from importlib.machinery import PathFinder  # noqa: E402

from . import (
    bytecode,
    checks,
    evidence,
    events,
    failures,
    lending,
    library,
    messages,
    packages,
    remote,
    solution,
    state,
    suspicious,
    test_file,
    values,
)  # noqa: E402
from .borrower import may_be_named  # noqa: E402
from .suspicious import FILES  # noqa: E402

MODULE = lending.MODULE

_COMPILE_ERRORS = (SyntaxError, ValueError, MemoryError, RecursionError)


class Judge(remote.Peer):
    """The judging instance's end of the connection."""

    def __init__(self):
        super().__init__(0)
        self.busy = False
        # Whether the test has ended: no more requests are sent.
        self.closed = False
        # Whether the test has used anything of the program.
        self.used = False
        # The module that the test can import, and the stand-in for the program's own module.
        self.solution = self.module = None
        self.recorder = evidence.Recorder(self.shared)
        self.checks = checks.Checks()
        self.watch = None
        # Plain values inside things of the program, by number.
        self.insides = {}
        # Classes that the test handed over, by number.
        self.handed = set()
        # Classes whose description was sent to the program.
        self.described = set()
        # Token and memo of the deep copy that the program is making.
        self.copies = (None, {})

    def number_of_theirs(self, value):
        if suspicious.is_remote(value):
            return suspicious.number_of(value)
        return value.__dict__.get("_assay_number") if isinstance(value, BaseException) else None

    def reference_to_theirs(self, unpacker, packed):
        tag, value = packed["$"], packed["v"]
        if tag == "stdlib":
            thing = values.standard(*value)
            if may_be_named(thing):
                return thing
        elif tag == "made":
            return library.make(value[0], unpacker.unpack(value[1]), True)
        elif tag == "new":
            return lending.do(
                self,
                self.lent[value],
                "new",
                [unpacker.unpack(part) for part in packed["args"]],
                {},
            )
        elif tag == "remote" and type(value) is int:
            if "exception" in packed:
                return self.stand_in(value, lambda: failures.class_of(self, value, packed))
            stand_in = self.stand_in(value, lambda: self._make(value, packed))
            return _run(stand_in) if "coroutine" in packed else stand_in
        raise ValueError(f"a value of kind `{tag}` cannot be read")

    def _make(self, number, packed):
        if "names" in packed:
            return suspicious.stand_in_class(self, number, *packed["names"], packed.get("base"))
        if "standard" in packed:
            return suspicious.stand_in(self, number, suspicious.standard_class(*packed["standard"]))
        if "class" not in packed:
            return suspicious.stand_in(self, number)
        kind = self.reference_to_theirs(None, packed["class"])
        return suspicious.stand_in(
            self, number, kind if type(kind) is suspicious.RemoteType else suspicious.Remote
        )

    # Exceptions.

    def exception_namespace(self, number, reference):
        return _EXCEPTION

    def may_raise(self, kind, method):
        # A call that raises `StopIteration` could end a loop of the test before everything is
        # checked.
        ends_loops = issubclass(kind, (StopIteration, StopAsyncIteration))
        return issubclass(kind, Exception) and (
            not ends_loops or method in ("__next__", "__anext__")
        )

    def new_exception(self, kind, args):
        return kind(*args)

    def mark(self, error, raised):
        error._assay_raised_by_program = True
        error._assay_text = str(raised.get("details", ""))
        if type(raised.get("thing")) is int:
            error._assay_number = raised["thing"]
        if "limit" in raised:
            error._assay_limit = tuple(str(part) for part in raised["limit"])
        error.__notes__ = [str(raised.get("text", ""))]

    def told_of(self, error):
        # The judging instance sends the program no text of its exceptions.
        return {}

    def refusal(self, error):
        """Marks an exception as the program's fault."""
        error._assay_raised_by_program = True
        return error

    def unsupported(self, what):
        """An exception for an operation on an object of the test that the sandbox does not
        support.
        """
        error = TypeError(f"{what} is not supported by the sandbox")
        error._assay_limit = ("other", "deriving from a class of the test")
        error._assay_unsupported = True
        return error

    # Requests.

    def has_state(self):
        return self.watch is not None

    def repeat(self, reports):
        events.repeat(self, reports)

    def add_state(self, request, packer):
        if self.watch is not None and (changed := self.watch.changes(packer)):
            request["state"] = changed

    def ask(self, target, method, args=(), kwargs=None):
        self.used = True
        sent = self.checks.sent()
        try:
            value = super().ask(target, method, args, kwargs)
        except BaseException as error:
            if (hidden := self.checks.take(sent, error)) is not None:
                raise hidden from None
            if not hasattr(error, "_assay_sent"):
                error._assay_raised_by_program = True
            raise
        if (hidden := self.checks.take(sent, None)) is not None:
            raise hidden
        return value

    def exchange(self, request):
        if self.closed:
            raise RuntimeError("the test has ended")
        self.checks.requests += 1
        call = None
        if request["method"] == "__call__":
            call = [request, None]
            self.recorder.calls.append(call)
        reply = super().exchange(request)
        if call is not None:
            call[1] = reply
        if call is not None or request["method"] == "__getattr__":
            self.recorder.name_result(request, reply.get("value"))
        return reply

    def export_own(self, packer, value, depth):
        if type(value) is types.FunctionType:
            self.checks.lend(value.__code__)
        return lending.export(self, packer, value, depth)

    def do(self, target, method, args, kwargs):
        if type(target) is types.FunctionType:
            self.checks.call(target.__code__)
        requests, own = self.checks.requests, method in _NAMING
        try:
            return lending.do(self, target, method, args, kwargs)
        except BaseException as error:
            received = len(args) > own or bool(kwargs)
            if self.checks.is_failed(error, requests, received):
                self.checks.send(error)
            if not isinstance(error, Exception):
                raise
            if not hasattr(error, "_assay_raised_by_program"):
                # If no line of the test was involved, the program requested something that does not
                # exist.
                name = "_assay_sent" if _text_frame(error) else "_assay_raised_by_program"
                setattr(error, name, True)
            raise


# Requests whose first argument is the name of a method.
_NAMING = ("special", "method", "of_class", "__getattr__")

peer = Judge()


def compile_test(header, blobs):
    """Compiles a test. The reply contains its code, and the request for the names of the program
    that it uses.
    """
    try:
        codes = [evidence.compiled(bytes(blob), name) for name, blob in zip(FILES, blobs)]
    except _COMPILE_ERRORS as error:
        return messages.write({"end": "refused", "message": remote.describe(error)})
    names = bytecode.Names.of(codes)
    request = {"op": "peer", "target": 0, "method": "names", "args": sorted(names.all)}
    return messages.write(
        {"end": "compiled"}, marshal.dumps(names.parts()), messages.write(request)
    )


def judge(header, blobs):
    """Runs a compiled test. The blobs are its code, the program's answer to the request for names,
    and the texts of the test.
    """
    code, found, *texts = blobs
    texts = dict(zip(FILES, texts))
    names = bytecode.Names(marshal.loads(code))
    runs_pytest = header.get("pytest", False)
    name = header["module"]
    if name in sys.modules or name in sys.builtin_module_names or _imp.is_frozen(name):
        message = f"the image has a module `{name}`; use another name for `module`"
        return messages.write({"end": "unjudgeable", "message": message})
    peer.busy = True
    isolate()
    module = types.ModuleType(lending.FILE_MODULE if runs_pytest else MODULE)
    module.__file__ = "/test.py"
    sys.modules[module.__name__] = module
    peer.solution = sys.modules[name] = solution.Solution(name, peer, names.all)
    # The program's names come first, so that definitions of the test override them.
    try:
        found = _theirs(names, found, texts)
    except Exception as error:
        return messages.write(
            {
                "end": "raised",
                "message": f"the program's names cannot be read: {remote.describe(error)}",
            }
        )
    granted = _granted(names, found)
    module.__dict__.update(found | granted, __builtins__=builtins)
    module.__dict__[evidence.NAME] = peer.recorder.compare
    module.__dict__[evidence.HOLDS] = peer.recorder.holds
    peer.checks.texts = texts
    peer.checks.watch_threads()
    watch = state.Watch(names, module.__dict__, name)
    peer.watch = None if watch.idle else watch
    try:
        for code in names.codes:
            exec(code, module.__dict__)
        if not runs_pytest:
            peer.checks.finish(names.codes, peer.recorder.asserts)
    except BaseException as error:
        ending = _ending(error, texts, names, found, granted)
        if runs_pytest and ending["end"] == "finished":
            ending = {"end": "unjudgeable", "message": "the file exits before its tests run"}
        return messages.write(ending)
    if runs_pytest:
        try:
            test_file.run(module)
            peer.checks.finish(names.codes, peer.recorder.asserts)
        except BaseException as error:
            return messages.write(_ending(error, texts, names, found, granted))
    return messages.write({"end": "finished"})


def isolate():
    """Prevents imports from files, which the program may have written."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not PathFinder]
    sys.path_hooks.clear()
    test_file.prepare_judge()
    suspicious.check_classes()
    builtins.callable = suspicious.is_callable
    inspect.getsource = lambda thing: "".join(_source_lines(thing)[0])
    inspect.getsourcelines = _source_lines
    unittest.mock._is_async_obj = _is_async


_source_lines_in_process = inspect.getsourcelines


def _source_lines(thing):
    if isinstance(thing, solution.Solution):
        thing = solution.module_of(thing)
    if not suspicious.is_remote(thing):
        return _source_lines_in_process(thing)
    text, first = suspicious.ask(thing, "source")
    return str(text).splitlines(True), first


_is_async_in_process = unittest.mock._is_async_obj


def _is_async(thing):
    """Whether a mock of this object is asynchronous. Every stand-in looks like an awaitable."""
    if not suspicious.is_remote(thing):
        return _is_async_in_process(thing)
    flags = getattr(getattr(thing, "__code__", None), "co_flags", 0)
    return type(flags) is int and bool(flags & inspect.CO_COROUTINE)


def _ending(error, texts, names, found, granted):
    """The reply about a test that ended early."""
    if isinstance(error, remote.Ended):
        ending = {"end": "exited", "status": remote.exit_status(error)}
    elif isinstance(error, SystemExit):
        # The test itself exited, as test runners do.
        status = remote.exit_status(error)
        at_fault = status and _is_fault_of_text(error, texts, names, found, granted)
        end = "finished" if not status else "unjudgeable" if at_fault else "refuted"
        ending = {"end": end, "message": f"the test exits with status {status}"}
    elif _is_fault_of_text(error, texts, names, found, granted):
        end = "unjudgeable" if _is_certain(error) else "failed_early"
        ending = {"end": end, "message": _description(error)}
    else:
        by_program = hasattr(error, "_assay_raised_by_program") or _is_missing(error, names, found)
        by_program |= not peer.used
        ending = {"end": "raised" if by_program else "refuted", "message": _description(error)}
    ending["details"] = _details(error, texts)
    return ending


def _description(error):
    return test_file.description(error) or remote.describe(error)


def _is_certain(error):
    """Whether a failure before the test used the program is certainly the fault of the test. Other
    failures may be caused by files that the program changed.
    """
    own = (test_file.NotRun, test_file.Failed, ImportError)
    return (
        isinstance(error, own)
        or hasattr(error, "_assay_unsupported")
        or test_file.is_fault_of_file(error)
    )


def _is_fault_of_text(error, texts, names, found, granted):
    """Whether no program could have passed, based only on observations of this instance."""
    if hasattr(error, "_assay_unsupported") or test_file.is_fault_of_file(error):
        return True
    if hasattr(error, "_assay_raised_by_program"):
        return False
    if isinstance(error, (test_file.NotRun, test_file.Failed)):
        return not peer.used
    if _is_missing(error, names, found):
        return False
    frame = _text_frame(error)
    if isinstance(error, ImportError) and frame is not None:
        return bytecode.imports_at(frame.tb_frame.f_code, frame.tb_lasti)
    theirs = {name for name, value in found.items() if suspicious.is_remote(value)}
    if theirs and (
        isinstance(error, SystemExit) or not theirs.isdisjoint(_met(error, names.codes))
    ):
        peer.used = True
    if peer.used or names.loaded - names.stored - found.keys() - granted.keys() - _BUILTINS:
        # The failure may be the result of something that the program lacks.
        return False
    if _lacks_tested_builtin(error, texts, names, found):
        return False
    return not (granted.keys() & set(frame.tb_frame.f_code.co_names if frame is not None else ()))


def _lacks_tested_builtin(error, texts, names, found):
    """Whether the test uses no name of the program except for a function with the name of a
    builtin, which the program lacks, so that the builtin itself may have failed.
    """
    if not all(_is_same_anywhere(name, value) for name, value in found.items()):
        return False
    called = {
        name
        for name in (names.loaded & _BUILTINS) - names.stored - found.keys()
        if callable(thing := getattr(builtins, name, None))
        and not (isinstance(thing, type) and issubclass(thing, BaseException))
    }
    tested = _tested_builtin([ast.parse(bytes(text)) for text in texts.values()], called)
    return tested is not None and tested in _met(error, names.codes)


def _met(error, codes):
    """Names that the test may have loaded before it failed: in the code on the way to the failure
    and in what that code names.
    """
    met, trace = set(), error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in FILES:
            met |= bytecode.loaded_until(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    functions, left = bytecode.functions_of(codes), list(met)
    while left:
        for code in functions.pop(left.pop(), ()):
            left += set(code.co_names) - met
            met.update(code.co_names)
    return met


def _is_missing(error, names, found):
    """Whether an exception reports that the program lacks a name."""
    if isinstance(error, ImportError):
        # `from solution import name` failed, as opposed to an import of a missing module.
        return error.name == peer.solution.__name__ and sys.modules.get(error.name) is peer.solution
    return (
        isinstance(error, NameError) and error.name not in names.stored and error.name not in found
    )


def _text_frame(error):
    """The innermost traceback entry that belongs to the test."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in FILES:
            found = trace
        trace = trace.tb_next
    return found


def _details(error, texts):
    """The evidence. An error while it is collected does not fail the test."""
    peer.closed = True
    try:
        frame = _text_frame(error)
        file = frame.tb_frame.f_code.co_filename if frame is not None else None
        source = bytes(texts[file]).decode(errors="replace") if file else ""
        details = peer.recorder.report(source, frame.tb_lineno if frame is not None else None, file)
        limit = failures.limit_of(error)
        if limit is not None:
            details["limit"] = {"cause": limit[0], "name": limit[1]}
        return details
    except BaseException:
        return {}


_BUILTINS = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__doc__",
    "__annotations__",
    evidence.NAME,
    evidence.HOLDS,
}


def _theirs(names, answer, texts):
    """The values of the program's names that the test uses, from the program's answer."""
    reply, _ = messages.read(answer)
    unpacker = values.Unpacker(peer.reference, peer.shared, reply.get("first", 0))
    sent = reply["value"]
    found = {name: unpacker.unpack(sent[name]) for name in sorted(names.all) if name in sent}
    peer.shared.keep(unpacker)
    looked_into = names.looked_into & sys.stdlib_module_names
    aliases = names.looked_into & packages.ALIASES.keys() - names.stored
    tested = None
    if not _BUILTINS.isdisjoint(found):
        trees = [ast.parse(bytes(text)) for text in texts.values()]
        tested = _tested_builtin(trees, found.keys() - looked_into)
    for name, value in list(found.items()):
        if name in _BUILTINS and name != tested:
            del found[name]
        elif name in looked_into:
            # The test uses attributes of this module; an object of the program in its place could
            # return anything.
            found[name] = values.standard(name, "")
        elif name in aliases and suspicious.is_remote(value):
            # The same for packages, which programs import under other names.
            del found[name]
            if packages.ALIASES[name] in packages.NAMES:
                found[name] = values.standard(packages.ALIASES[name], "")
        elif suspicious.is_remote(value):
            peer.recorder.names[suspicious.number_of(value)] = name
            # The names of a class are known here, so the test can use them without a request.
            peer.used |= not suspicious.is_unclassified(value)
        elif not _is_same_anywhere(name, value):
            # The test can use it without a request.
            peer.used = True
    return found


def _is_same_anywhere(name, value):
    """Whether a name has the same meaning in every program."""
    if type(value) is types.ModuleType:
        return value.__name__ == name
    return values.is_typing_form(value) and value is getattr(typing, name, None)


def _granted(names, found):
    """Modules and names of `typing` that the test uses and neither side has imported."""
    wanted = names.loaded - names.stored - found.keys() - _BUILTINS
    granted = {
        name: values.standard(name, "")
        for name in wanted & names.looked_into & sys.stdlib_module_names
    }
    return granted | {name: getattr(typing, name) for name in wanted & _TYPING - granted.keys()}


_TYPING = frozenset(typing.__all__)


def _tested_builtin(trees, found):
    """The one function with the name of a builtin that the test tests: the innermost that it calls,
    if it uses no other name of the program. All other builtins remain those of this instance.
    """
    calls, kept = [], set()

    def walk(node, depth):
        # Bases of the test's classes and what it catches are not what it tests.
        parts = getattr(node, "bases", ())
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            parts = [node.type]
        for part in parts:
            kept.update(name.id for name in ast.walk(part) if isinstance(name, ast.Name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in found:
            calls.append((depth, node.func.id))
        for child in ast.iter_child_nodes(node):
            walk(child, depth + 1)

    for tree in trees:
        walk(tree, 0)
    if not all(hasattr(builtins, name) for name in found):
        return None
    calls = [call for call in calls if call[1] not in kept]
    if calls:
        return max(calls)[1]
    return next(iter(found)) if len(found) == 1 and kept.isdisjoint(found) else None


def _exception_text(self):
    return getattr(self, "_assay_text", None) or Exception.__str__(self)


def _exception_attribute(self, name):
    thing = self.__dict__.get("_assay_number")
    if thing is None or name.startswith("_assay"):
        raise AttributeError(name)
    return peer.ask(thing, "__getattr__", (name,))


_EXCEPTION = {
    "__module__": "solution",
    "__str__": _exception_text,
    "__getattr__": _exception_attribute,
}


# Steps without a delay of a coroutine that waits for another one, and the delay of later ones.
_SHORT_STEPS, _IDLE = 100, 0.01


async def _run(stand_in):
    """A coroutine of the program, which runs there step by step while it is awaited here."""
    loop, idle, cancelled = asyncio.get_running_loop(), 0, False
    while True:
        end, *value = suspicious.ask(stand_in, "step", loop.time(), cancelled)
        if end == "done":
            return value[0]
        if end == "cancelled":
            raise asyncio.CancelledError
        delay = value[0]
        if delay is None:
            idle += 1
            delay = 0 if idle < _SHORT_STEPS else _IDLE
        try:
            cancelled = False
            await asyncio.sleep(delay)
        except asyncio.CancelledError:
            cancelled = True
