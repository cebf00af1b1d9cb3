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
        # File name -> text, and the statements of those that were parsed.
        self.texts, self._statements = {}, {}
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

    # Statements.

    def _statement(self, frame):
        """The statement that a traceback entry executes."""
        file = frame.tb_frame.f_code.co_filename
        if file not in self._statements:
            tree = ast.parse(bytes(self.texts[file]))
            self._statements[file] = [
                node for node in ast.walk(tree) if isinstance(node, (ast.Assert, ast.Expr, ast.Raise))
            ]
        around = [
            node
            for node in self._statements[file]
            if node.lineno <= frame.tb_lineno <= node.end_lineno
        ]
        return max(around, key=lambda node: node.lineno, default=None)

    def _statements_of(self, error):
        """The statements of the test on the way to an exception. The last one raised it."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in self.texts:
                yield self._statement(trace)
            trace = trace.tb_next

    def is_failed(self, error, requests, received=False):
        """Whether an exception is a failed check that may depend on the program, which took control
        when `requests` requests had been sent and passed a value to the check if `received`.
        """
        statements = list(self._statements_of(error))
        of_program = hasattr(error, "_assay_raised_by_program")
        failed = isinstance(error, AssertionError) or test_file.is_failure(error)
        if not (failed and not of_program or any(map(_is_check, statements))):
            return False
        if received or self.requests > requests:
            return True
        return not (statements and _is_constant(statements[-1]))

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


def _called_name(statement):
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return ""
    function = statement.value.func
    return getattr(function, "attr", None) or getattr(function, "id", "")


def _is_check(statement):
    """Whether a statement is an assert or calls a function such as `assertEqual`."""
    return isinstance(statement, ast.Assert) or "assert" in _called_name(statement).lower()


def _is_constant(statement):
    """Whether a statement fails independently of any name."""
    if statement is None:
        return False
    if isinstance(statement, ast.Raise):
        return True
    parts = [statement.test] if isinstance(statement, ast.Assert) else []
    if isinstance(statement, ast.Expr):
        if not _is_check(statement) and _called_name(statement) != "fail":
            return False
        parts = [*statement.value.args, *(part.value for part in statement.value.keywords)]
    return not any(
        isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Await))
        for part in parts
        for node in ast.walk(part)
    )
