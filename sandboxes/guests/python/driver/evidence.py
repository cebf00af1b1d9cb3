"""Evidence of a failed test: the failed assert with both values, and the last calls into the
program.
"""

from . import isolation

isolation.own_builtins(globals())

import ast  # noqa: E402
import collections  # noqa: E402
import operator  # noqa: E402

from . import containers, messages, suspicious, values  # noqa: E402

CALLS = 3
TEXT = 400
ALL = 16 << 10

COMPARISONS = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda left, right: left in right),
    ast.NotIn: ("not in", lambda left, right: left not in right),
}
_BY_SIGN = dict(COMPARISONS.values())

# Global names of the functions that evaluate the conditions of a test's asserts: those that consist
# of one comparison, and others.
NAME, HOLDS = "_assay_compare", "_assay_holds"


class Recorder:
    """Records what a report may need. Values are only formatted after a test has failed."""

    def __init__(self, shared):
        self._shared = shared
        self.calls = collections.deque(maxlen=CALLS)
        # Names of objects of the program, by number.
        self.names = {}
        self.compared = None
        # Asserts whose condition was evaluated.
        self.asserts = 0

    def holds(self, condition):
        """Counts an assert whose condition was evaluated."""
        self.asserts += 1
        return condition

    def compare(self, where, left, right):
        """Evaluates the comparison of an assert."""
        self.asserts += 1
        result = _BY_SIGN[where[0]](left, right)
        # The operands of a true comparison need not be kept alive.
        self.compared = None if result is True else (where, left, right)
        return result

    def name_result(self, request, value):
        """Names an object of the program after the expression that gave it to the test."""
        if type(value) is dict and value.get("$") == "remote" and type(value["v"]) is int:
            owner = self.names.get(request["target"], "object")
            part = "(...)" if request["method"] == "__call__" else f".{request['args'][0]}"
            self.names.setdefault(value["v"], f"{owner}{part}"[:TEXT])

    def report(self, source, line, file):
        """The evidence, at most `ALL` bytes of JSON."""
        details = {"file": file, "line": line} if line else {}
        if line:
            lines = source.splitlines()
            details["source"] = lines[line - 1].strip()[:TEXT] if line <= len(lines) else ""
        if self.compared is not None and self._failed_at(file, line):
            (sign, *_), left, right = self.compared
            details |= {"operator": sign, "left": shown(left), "right": shown(right)}
        if self.calls:
            details["calls"] = [self._call(*call) for call in self.calls]
        while len(messages.dumps(details)) > ALL and details.get("calls"):
            details["calls"].pop(0)
        return details

    def _failed_at(self, file, line):
        _, compared_in, first, last = self.compared[0]
        return line is not None and compared_in == file and first <= line <= last

    def _call(self, request, reply):
        known = {}
        read = self._reader(request, known)
        parts = [read(argument) for argument in request["args"]]
        parts += [f"{name}={read(value)}" for name, value in request.get("kwargs", {}).items()]
        details = {
            "call": f"{self.names.get(request['target'], 'object')}({', '.join(parts)})"[:TEXT]
        }
        if reply is None:
            return details
        if "raised" in reply:
            lines = str(reply["raised"].get("text", "")).strip().splitlines()
            details["raised"] = lines[-1][:TEXT] if lines else "an exception of the test"
        elif "exited" in reply:
            details["raised"] = f"SystemExit: {reply['exited']}"[:TEXT]
        else:
            details["returned"] = self._reader(reply, known)(reply.get("value"))
        return details

    def _reader(self, message, known):
        """A function that formats values of a message as Python literals. Containers have the
        numbers they had when the message was sent; `known` has those of the request.
        """
        unpacker = values.Unpacker(
            _reference, _Shared(self._shared, known), message.get("first", 0)
        )
        try:
            for _, content in message.get("changed", ()):
                kind = containers.BY_TAG[content["$"] if type(content) is dict else None]
                unpacker.refill(kind.new(content), kind, content)
        except Exception:
            return lambda packed: "..."

        def read(packed):
            try:
                return shown(unpacker.unpack(packed))
            except Exception:
                return "..."
            finally:
                known.update(unpacker.containers)

        return read


_BRACKETS = {
    list: "[]",
    tuple: "()",
    set: "{}",
    frozenset: "{}",
    dict: "{}",
    collections.deque: "[]",
}


def _parts(value, depth=0):
    """The literal of a value in pieces, so that only the shown part is produced."""
    kind = type(value)
    if suspicious.is_remote(value):
        yield "<object of the program>"
    elif kind is str:
        yield repr(value[:TEXT])
    elif kind in _BRACKETS and depth < 20:
        first, last = _BRACKETS[kind]
        yield first
        for index, part in enumerate(value.items() if kind is dict else value):
            if index:
                yield ", "
            if kind is dict:
                yield from _parts(part[0], depth + 1)
                yield ": "
                part = part[1]
            yield from _parts(part, depth + 1)
        yield ("," if kind is tuple and len(value) == 1 else "") + last
    elif kind in (bytes, bytearray):
        yield repr(value[:TEXT])
    else:
        yield repr(value)


def shown(value):
    """A literal of bounded length. The `__repr__` of objects of the program is not called."""
    text, rest = "", _parts(value)
    try:
        for part in rest:
            text += part
            if len(text) > TEXT:
                return text[: TEXT - 1] + "…"
        return text
    except BaseException:
        return f"<{type(value).__name__}>"[:TEXT]


class _Named:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


class _Shared:
    """Containers that both instances have: those of a request first, then the current ones."""

    def __init__(self, shared, known):
        self._shared, self._known = shared, known
        self.entries = self

    def __getitem__(self, number):
        return self._known.get(number) or self._shared.entries.get(number) or [_Named("...")]


def _reference(unpacker, packed):
    kind, value = packed["$"], packed["v"]
    name = (
        packed.get("name") or packed.get("exception") or (value[-1] if kind == "stdlib" else None)
    )
    if kind == "made":
        return _Named(f"{value[0]}(...)")
    if type(name) is not str:
        return _Named("<object>")
    return _Named(name if name.startswith("<") else f"<{name}>")


def compiled(text, name):
    """The code of a test. Asserts are counted; those with one comparison keep both values for a
    report.
    """
    tree = ast.parse(text, name)
    _keep_operands(tree, name)
    return compile(tree, name, "exec", dont_inherit=True)


_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def _keep_operands(node, file):
    """Rewrites asserts. Only statements are visited: expressions contain no asserts."""
    for name in _BODIES:
        for statement in getattr(node, name, None) or ():
            if type(statement) is not ast.Assert:
                _keep_operands(statement, file)
                continue
            test = statement.test
            if type(test) is ast.Compare and len(test.ops) == 1:
                sign = COMPARISONS[type(test.ops[0])][0]
                where = ast.copy_location(
                    ast.Constant((sign, file, statement.lineno, statement.end_lineno)), test
                )
                function = ast.copy_location(ast.Name(NAME, ast.Load()), test)
                call = ast.Call(function, [where, test.left, test.comparators[0]], [])
            elif type(test) is not ast.Tuple:
                call = ast.Call(ast.copy_location(ast.Name(HOLDS, ast.Load()), test), [test], [])
            else:
                # The compiler warns about it.
                continue
            statement.test = ast.copy_location(call, test)
