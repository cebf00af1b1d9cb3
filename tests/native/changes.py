"""Programs with one changed expectation: a grader that accepts one would accept a wrong program.

The changes are made when the programs are recorded, at random with the program's id as the seed. A
changed assert is kept only if it fails in native CPython. A line of `changes.jsonl` has the id of
the program and its tests with the change.
"""

import ast
import json
import random

import cpython
import grading
import programs

FILE = programs.HERE / "changes.jsonl"

# Changes of each kind of test.
EACH = 50

# Attempts to find a change of an assert that fails natively.
ATTEMPTS = 6


def run(binary, entries, step):
    by_id = {entry["id"]: entry for entry in entries}
    lines = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()][::step]
    items = [programs.item(by_id[line["of"]], tests=line["tests"]) for line in lines]
    results = grading.grade(binary, items)
    verdicts, problems = {}, []
    for line in lines:
        found = grading.word(results[line["of"]])
        verdicts[found] = verdicts.get(found, 0) + 1
        if found == "accepted":
            problems.append(f"accepted with a changed expectation: {line['of']}: {line['change']}")
    print(
        f"  {len(lines)} changed expectations: "
        + ", ".join(f"{word} {count}" for word, count in sorted(verdicts.items()))
    )
    return problems


def record(python, entries):
    lines = []
    for kind in ("stdin", "call", "assert"):
        chosen = [
            entry
            for entry in entries
            if programs.kind(entry) == kind and programs.expected(entry) == "accepted"
        ]
        random.Random(kind).shuffle(chosen)
        made = 0
        for entry in chosen:
            line = changed(python, entry)
            if line:
                lines.append(line)
                made += 1
            if made == EACH:
                break
        if made < EACH:
            raise SystemExit(f"only {made} changes of `{kind}`")
    FILE.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
    )


def changed(python, entry):
    """A program with one changed test, or `None` if no change was found."""
    rng = random.Random(entry["id"])
    place = rng.randrange(len(entry["tests"]))
    test = entry["tests"][place]
    for _ in range(ATTEMPTS):
        new, note = change(rng, test)
        if new is None:
            return None
        if "assert" in new and "raised" not in cpython.test(python, entry, new, "1"):
            continue
        return {
            "of": entry["id"],
            "change": note,
            "tests": [*entry["tests"][:place], new, *entry["tests"][place + 1 :]],
        }
    return None


def change(rng, test):
    if "stdin" in test:
        stdout, note = change_output(rng, test["stdout"])
        return (None, "") if stdout is None else ({**test, "stdout": stdout}, note)
    if "call" in test:
        value, note = change_value(rng, test["returns"])
        return {**test, "returns": value}, note
    text, note = change_constant(rng, test["assert"])
    return (None, "") if text is None else ({"assert": text}, note)


def change_output(rng, text):
    """Changes a word, or removes or repeats a line."""
    lines = text.splitlines()
    places = [number for number, line in enumerate(lines) if line.split()]
    if not places:
        return None, ""
    number = rng.choice(places)
    how = rng.randrange(4)
    if how == 0 and len(lines) > 1:
        return "\n".join(lines[:number] + lines[number + 1 :]) + "\n", f"line {number + 1} removed"
    if how == 1:
        return "\n".join(lines[: number + 1] + lines[number:]) + "\n", f"line {number + 1} twice"
    words = lines[number].split(" ")
    at = rng.choice([place for place, word in enumerate(words) if word])
    old = words[at]
    words[at] = other_word(rng, old)
    lines[number] = " ".join(words)
    return "\n".join(lines) + "\n", f"line {number + 1}: {old[:40]} -> {words[at][:40]}"


def other_word(rng, word):
    digits = [place for place, character in enumerate(word) if character in "0123456789"]
    if digits:
        at = rng.choice(digits)
        return word[:at] + str((int(word[at]) + 1) % 10) + word[at + 1 :]
    return word + "x"


def change_value(rng, value):
    """A JSON value with one part changed."""
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.3:
            return value[:at] + value[at + 1 :], f"element {at} removed"
        part, note = change_value(rng, value[at])
        return [*value[:at], part, *value[at + 1 :]], f"[{at}]: {note}"
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        part, note = change_value(rng, value[key])
        return {**value, key: part}, f"[{key!r}]: {note}"
    new = other_value(value)
    return new, f"{json.dumps(value)[:60]} -> {json.dumps(new)[:60]}"


def other_value(value):
    """A value that no grader may accept as equal."""
    if value is None:
        return 0
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 + 1e-6
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value, None]
    return {**value, "new": 1}


class Changer(ast.NodeTransformer):
    """Changes the constant of the given number in the comparisons of asserts."""

    def __init__(self, number):
        self.number, self.seen, self.inside, self.note = number, 0, 0, ""

    def visit_Assert(self, node):
        self.inside += 1
        node.test = self.visit(node.test)
        self.inside -= 1
        return node

    def visit_Constant(self, node):
        if not self.inside or not isinstance(
            node.value, (bool, int, float, str, bytes, type(None))
        ):
            return node
        self.seen += 1
        if self.seen - 1 != self.number:
            return node
        new = node.value + b"x" if isinstance(node.value, bytes) else other_value(node.value)
        self.note = f"line {node.lineno}: {node.value!r} -> {new!r}"[:120]
        return ast.copy_location(ast.Constant(new), node)


def change_constant(rng, text):
    count = Changer(-1)
    count.visit(ast.parse(text))
    if not count.seen:
        return None, ""
    changer = Changer(rng.randrange(count.seen))
    return ast.unparse(changer.visit(ast.parse(text))), changer.note
