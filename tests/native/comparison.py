"""Compares verdicts of a language's programs with their native results, and runs attacks on tasks.

A folder contains `programs.jsonl`, programs with the tests of a task and their recorded native
results, and `attacks.jsonl`, tasks with an honest program and with hostile ones.
"""

import argparse
import json
import pathlib
import types
import typing

import grading

# Limits of attacks: low, so that those that exhaust them finish quickly.
ATTACK_LIMITS = {"seconds": 1, "memory_mb": 128}


class Comparison(typing.NamedTuple):
    """What the comparison of a language consists of."""

    usage: str
    # Name of the native implementation, and what `--native` takes.
    peer: str
    metavar: str
    native_help: str
    folder: pathlib.Path
    # Programs whose verdict differs from the native result, with the reason.
    differences: dict
    # Returns the item of a program, from its id, its text, the entry with its tests, and limits.
    item: typing.Callable
    # Returns the verdict that corresponds to the native results of an entry.
    expected: typing.Callable
    # Returns the entry with the results of the native implementation at a path.
    natively: typing.Callable
    # Functions that run the parts that only this language has, by name.
    other_parts: typing.Mapping = types.MappingProxyType({})

    @property
    def parts(self):
        return {"programs": self.run_programs, **self.other_parts, "attacks": self.run_attacks}

    def load(self, name):
        lines = (self.folder / name).read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line]

    def record(self, native):
        entries = [self.natively(native, entry) for entry in self.load("programs.jsonl")]
        lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries]
        (self.folder / "programs.jsonl").write_text("".join(lines), encoding="utf-8")

    def check_natively(self, native, entries):
        problems = []
        for entry in entries:
            found = self.natively(native, entry)
            if found != entry:
                results = {name: found[name] for name in found if found[name] != entry.get(name)}
                problems.append(f"{entry['id']}: {json.dumps(results)[:200]}")
        return problems

    def run_programs(self, given):
        entries = self.load("programs.jsonl")[:: given.every]
        problems = self.check_natively(given.native, entries) if given.native else []
        items = [self.item(entry["id"], entry["program"], entry) for entry in entries]
        results = grading.grade(given.binary, items)
        agreed = 0
        for entry in entries:
            key, wanted = entry["id"], self.expected(entry)
            found = grading.word(results[key])
            agrees = found == wanted
            agreed += agrees
            if agrees and key in self.differences:
                problems.append(f"{key}: agrees; remove its documented difference")
            elif not agrees and key in self.differences:
                print(f"  {key}: {found}, natively {wanted}: {self.differences[key]}")
            elif not agrees:
                reason = grading.reason(results[key], 300)
                problems.append(f"{key}: {found}, natively {wanted}: {reason}")
        print(f"  {agreed} of {len(entries)} agree with {self.peer}")
        return problems

    def run_attacks(self, given):
        tasks, items, allowed = self.load("attacks.jsonl"), [], {}
        for task in tasks:
            items.append(self.item(task["task"], task["honest"], task, ATTACK_LIMITS))
            for name, program in list(task["attacks"].items())[:: given.every]:
                key = f"{task['task']}/{name}"
                items.append(self.item(key, program, task, ATTACK_LIMITS))
                allowed[key] = task.get("verdicts")
        results = grading.grade(given.binary, items)
        problems, words = [], {}
        for key, result in results.items():
            found, is_attack = grading.word(result), key in allowed
            words[found] = words.get(found, 0) + is_attack
            is_allowed = not allowed.get(key) or found in allowed[key]
            if is_attack and (found == "accepted" or result["verdict"] is None or not is_allowed):
                problems.append(f"{key}: {found}: {grading.reason(result)}")
            if not is_attack and found != "accepted":
                problems.append(f"{key}: the honest program is {found}: {grading.reason(result)}")
        listed = ", ".join(f"{word} {number}" for word, number in sorted(words.items()) if number)
        print(f"  {len(allowed)} attacks on {len(tasks)} tasks: {listed}")
        return problems

    def arguments(self):
        parser = argparse.ArgumentParser(
            description=self.usage, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("binary", nargs="?")
        parser.add_argument("--native", metavar=self.metavar, help=self.native_help)
        parser.add_argument("--record", action="store_true", help="write the native results")
        parser.add_argument("--part", action="append", choices=self.parts, help="only this part")
        parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th row")
        given = parser.parse_args()
        if given.record and not given.native:
            parser.error(f"`--record` needs `--native {self.metavar}`")
        if not given.record and not given.binary:
            parser.error("pass the path of the `assay` binary, or `--record`")
        return given

    def main(self):
        """Runs the parts that the command line chooses. Returns the exit status."""
        given = self.arguments()
        if given.record:
            self.record(given.native)
            return 0
        count = 0
        for part in given.part or self.parts:
            print(part, flush=True)
            problems = self.parts[part](given)
            for problem in problems:
                print(f"  PROBLEM {problem}")
            count += len(problems)
        print(f"{count} problems")
        return 1 if count else 0
