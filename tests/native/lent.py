"""Objects passed between a test and a program: special methods in both directions, and objects of
the standard library.

For each row there is a task whose test passes the object and compares the result with that of this
Python, in which everything runs in one process. A row works if the task is accepted. It is refused
if the task is ungradable: the sandbox does not support the operation and says so, and the program
is not blamed. It is guarded if the test uses a program's object together with a value of its own:
the program could forge the result, so the test fails. Everything else differs. A second task for
each row expects a different result, and must never be accepted.
"""

import textwrap

import grading
from methods import ON_VALUES, ROWS
from objects import OBJECTS

# Rows that differ, with the reason, which the documentation of the grader explains.
SIZE = "sizes in memory are those of 32-bit pointers"
TABLES = "classes are hashed and compared without calling their metaclass"
NAMESPACE = "`__prepare__` of a metaclass of the program is not called for a class of the test"
DIFFERENCES = {
    ("__sizeof__", False): SIZE,
    ("__sizeof__", True): SIZE,
    ("class __hash__ of metaclass", False): TABLES,
    ("class __hash__ of metaclass", True): TABLES,
    (f"class __eq__ of metaclass{ON_VALUES}", False): TABLES,
    ("class __prepare__", True): NAMESPACE,
}

INIT = "    def __init__(self, v=3): self.v = v"


class Row:
    """One object that is passed: `things` defines it, `handed` is the expression for it, `use` is
    what the other side does with it.
    """

    def __init__(self, name, things, handed, use, back=False):
        self.name, self.back = name, back
        *before, last = use.split("\n")
        lines = [*before, f"return {last}"]
        user = "def use(x, y=None):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"
        call = f"use({handed})"
        self.program, given = (things, user) if back else (user, things)
        self.text = f"{given}\nresult = {call}\nassert result == "
        namespace = {"__name__": "__main__"}
        exec(f"{things}\n{user}", namespace)
        self.expected = plain(eval(call, namespace))

    def items(self, key):
        shown = repr(self.expected)
        for suffix, expected in (("", shown), ("-changed", f"['something else', {shown}]")):
            task = grading.code_task([{"assert": self.text + expected}])
            yield grading.item(f"{key}{suffix}", self.program, task)


def plain(value):
    """The value, if its `repr` is an expression for it; the result of a row must be plain data."""
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if type(value) is dict:
        return {plain(key): plain(held) for key, held in value.items()}
    assert value is None or type(value) in (bool, int, float, complex, str, bytes), value
    return value


def class_source(body, base="object", extra="", meta="", other=""):
    if other:
        return f"class O:\n{textwrap.indent(other, '    ')}\nC = O()\n"
    init = "" if "def __init__" in body + extra or base == "dict" else INIT
    lines = "\n".join(
        part for part in (init, textwrap.indent(f"{body}\n{extra}".strip(), "    ")) if part.strip()
    )
    metaclass = f"class M(type):\n{textwrap.indent(meta, '    ')}\n" if meta else ""
    bases = f"{base}, metaclass=M" if meta else base
    return f"import abc\n{metaclass}class C({bases}):\n{lines or '    pass'}\n"


def rows():
    """Every row, in both directions where that makes sense."""
    for method, body, use, *rest in ROWS:
        things = class_source(body, *rest)
        handed = (
            "C" if method.startswith("class ") else "C()" if rest[:1] == ["dict"] else "C(), C(4)"
        )
        for back in (False, True):
            yield Row(method, things, handed, use, back)
    for name, imports, expression, use in OBJECTS:
        yield Row(name, imports, expression, use)


def state(row, result):
    word = grading.word(result)
    if row.back and row.name.endswith(ON_VALUES) and word in ("wrong_answer", "runtime_error"):
        return "guarded"
    return {"accepted": "works", "ungradable": "refused"}.get(word, f"differs: {word}")


def run(binary, step=1):
    made = {f"{number}": row for number, row in enumerate(rows())}
    chosen = dict(list(made.items())[::step])
    results = grading.grade(
        binary, [entry for key, row in chosen.items() for entry in row.items(key)]
    )
    problems, table = [], {}
    for key, row in chosen.items():
        found = state(row, results[key])
        kind = "program to test" if row.back else "test to program"
        table.setdefault((row.name, kind), found)
        documented = DIFFERENCES.get((row.name, row.back))
        if documented and found == "works":
            problems.append(f"{row.name}, {kind}: works; remove its documented difference")
        elif documented:
            print(f"  {row.name}, {kind}: {found}: {documented}")
        elif found.startswith("differs"):
            problems.append(f"{row.name}, {kind}: {found}: {grading.reason(results[key])}")
        if grading.word(results[f"{key}-changed"]) == "accepted":
            problems.append(f"{row.name}, {kind}: accepted with a changed expectation")
    show(table)
    for key, row in chosen.items():
        if state(row, results[key]) == "refused":
            print(
                f"  refused: {row.name}{', program to test' if row.back else ''}: {grading.reason(results[key])}"
            )
    return problems


def show(table):
    names = {}
    for (name, kind), found in table.items():
        names.setdefault(name, {})[kind] = found.partition(":")[0]
    kinds = ["test to program", "program to test"]
    print(f"  {'':40} {kinds[0]:16} {kinds[1]:16}")
    for name, found in names.items():
        print(f"  {name:40} {found.get(kinds[0], '-'):16} {found.get(kinds[1], '-'):16}")
    for kind in kinds:
        states = [found[kind] for found in names.values() if kind in found]
        counts = ", ".join(
            f"{word} {states.count(word)}" for word in ("works", "refused", "guarded", "differs")
        )
        print(f"  {kind}: {counts} of {len(states)}")
