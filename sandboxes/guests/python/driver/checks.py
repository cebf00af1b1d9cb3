"""Failed checks of a test that the program could hide: in the judging instance.

A check is an assert, a call such as `self.assertEqual(...)`, or anything else that raises
`AssertionError`. If it runs inside a `with` block or a callback of the program, its exception
passes through the program, which could discard it. Such a test fails nevertheless. The exception is
passed on only if the check does not depend on the program: it is constant, as in `assert False`,
and neither a value nor a request went to or came from the program since it took control.
"""

from . import isolation

isolation.own_builtins(globals())

import ast  # noqa: E402
import atexit  # noqa: E402
import opcode  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
import types  # noqa: E402

from . import test_file  # noqa: E402

_ASSERTS = opcode.opmap["LOAD_ASSERTION_ERROR"]


class Checks:
    """The checks of one test."""

    def __init__(self):
        # File name -> text, and the tree of those that were parsed.
        self.texts, self._trees = {}, {}
        # Requests that were sent to the program.
        self.requests = 0
        # For each stand-in that a `with` statement entered: the requests up to then.
        self._entered = {}
        # Failed checks that were sent to the program as the result of a callback.
        self._sent = []
        # Failed checks whose exceptions the interpreter only reports: those of threads.
        self._lost = []
        # Code of functions that the program received, and of those that it called.
        self._lent, self._called = set(), set()

    # Where the test is.

    def _function(self, code):
        """The function of the test with this code. For other code, the whole file."""
        file = code.co_filename
        if file not in self._trees:
            self._trees[file] = ast.parse(bytes(self.texts[file]))
        for node in ast.walk(self._trees[file]):
            if isinstance(node, _FUNCTIONS) and getattr(node, "name", "<lambda>") == code.co_name:
                decorators = getattr(node, "decorator_list", ())
                if min([node.lineno, *(one.lineno for one in decorators)]) == code.co_firstlineno:
                    return node
        return self._trees[file]

    def _way(self, error):
        """The code and lines of the test on the way to an exception, whose last raised it."""
        trace = error.__traceback__
        while trace is not None:
            if (code := trace.tb_frame.f_code).co_filename in self.texts:
                yield code, trace.tb_lineno
            trace = trace.tb_next

    def _around(self, code, line):
        """The nodes of a function around a line, the outer ones first."""
        around = (node for node in _nodes_of(self._function(code)) if _is_in(node, line))
        return sorted(around, key=lambda node: (node.lineno, -node.end_lineno))

    def _check_at(self, code, line):
        """The innermost check around a line."""
        return next(filter(_is_check, reversed(self._around(code, line))), None)

    def _skips_checks(self, code, line):
        """Whether an exception at a line skips checks: those in the body of a statement whose
        condition raised it, or later ones in the same block or function that are not constant.
        """
        around = self._around(code, line)
        for node in around:
            head = getattr(node, "test", None) or getattr(node, "subject", None)
            head = head or getattr(node, "iter", None)
            has_checks = isinstance(node, _BRANCHES) and any(map(_is_check, ast.walk(node)))
            if has_checks and _is_in(head, line):
                return True
        blocks = [node for node in around if isinstance(node, (ast.With, ast.AsyncWith))]
        block = blocks[-1] if blocks else self._function(code)
        return not isinstance(block, ast.Module) and any(
            node.lineno > line and _is_check(node) and not _is_constant(node)
            for node in _nodes_of(block)
        )

    def is_failed(self, error, requests, received=False):
        """Whether an exception is a failed check that may depend on the program, which took control
        when `requests` requests had been sent and passed a value to the check if `received`.
        """
        way = list(self._way(error))
        if hasattr(error, "_assay_raised_by_program"):
            return any(self._check_at(*place) for place in way) or (
                bool(way) and self._skips_checks(*way[0])
            )
        checks = [check for place in way if (check := self._check_at(*place)) is not None]
        if not (checks or isinstance(error, AssertionError) or test_file.is_failure(error)):
            return False
        if received or self.requests > requests:
            return True
        return not (checks and _is_constant(checks[-1]))

    # `with` statements.

    def enter(self, number):
        self._entered[number] = self.requests

    def fails_in(self, number, error):
        """Whether the exception that ends a `with` block is a failed check."""
        return error is not None and self.is_failed(error, self._entered.get(number, -1))

    # Callbacks.

    def lend(self, code):
        self._lent.add(code)

    def call(self, code):
        self._called.add(code)

    def sent(self):
        return len(self._sent)

    def send(self, error):
        self._sent.append(error)

    def take(self, before, returned):
        """A failed check that was sent to the program after `before` and that it has not passed on;
        `returned` is the exception that the program passed on, if any.
        """
        sent = self._sent[before:]
        del self._sent[before:]
        return next((error for error in sent if error is not returned), None)

    # The end of the test.

    def watch_threads(self):
        """Notes exceptions of the test that the interpreter would only print."""
        report = threading.excepthook

        def noted(args):
            self._note(args.exc_value)
            report(args)

        threading.excepthook = noted
        sys.unraisablehook = lambda args: self._note(args.exc_value)

    def _note(self, error):
        if error is not None and self.is_failed(error, -1):
            self._lost.append(error)

    def finish(self, codes, evaluated):
        """Raises the first failed check that the interpreter only reported. Fails as well if the
        program got all functions of the test that contain checks and called none, and so not one
        assert was evaluated.
        """
        if atexit._ncallbacks():
            atexit._run_exitfuncs()
        if self._lost:
            raise self._lost[0]
        missed = self._lent - self._called
        if (
            not evaluated
            and any(map(_has_asserts, missed))
            and not self._has_others(codes, missed)
        ):
            raise AssertionError("the program called no function that checks its results")

    def _has_others(self, codes, missed):
        """Whether there are checks outside of the functions in `missed`."""
        left = list(codes)
        while left:
            code = left.pop()
            if code in missed:
                continue
            if _has_asserts(code, False) or any("assert" in name for name in code.co_names):
                return True
            left += [part for part in code.co_consts if type(part) is types.CodeType]
        return False


def _has_asserts(code, nested=True):
    """Whether code contains an assert whose condition is not constant."""
    found = _ASSERTS in code.co_code[::2] and bool(code.co_names or code.co_varnames)
    return found or nested and any(
        _has_asserts(part) for part in code.co_consts if type(part) is types.CodeType
    )


_BRANCHES = (ast.If, ast.While, ast.For, ast.AsyncFor, ast.Match)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _nodes_of(root):
    """The nodes in a function or a block that have a line, without those of functions in it."""
    left = list(ast.iter_child_nodes(root))
    while left:
        node = left.pop()
        if isinstance(node, _FUNCTIONS):
            continue
        if hasattr(node, "lineno"):
            yield node
        left += ast.iter_child_nodes(node)


def _is_in(node, line):
    return node.lineno <= line <= node.end_lineno


def _called_name(node):
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def _is_check(node):
    """Whether a node is an assert, raises `AssertionError`, or calls a function such as
    `assertEqual`.
    """
    if isinstance(node, ast.Raise):
        kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return getattr(kind, "id", "") == "AssertionError"
    name = _called_name(node)
    return isinstance(node, ast.Assert) or "assert" in name.lower() or name == "fail"


def _is_constant(check):
    """Whether a check fails independently of any name."""
    if isinstance(check, ast.Raise):
        return True
    if isinstance(check, ast.Assert):
        parts = [check.test]
    else:
        parts = [*check.args, *(part.value for part in check.keywords)]
    return not any(
        isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Await))
        for part in parts
        for node in ast.walk(part)
    )
