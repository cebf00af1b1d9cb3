#!/usr/bin/env python3
"""Compares verdicts of JavaScript programs with the results of native Node.

usage: javascript.py PATH/TO/assay [--native NODE] [--part NAME]...
       javascript.py --native NODE --record

Parts: `programs` must get the verdicts that correspond to their native results; `asserts` are
tests that a right program must pass and a wrong one must not; `attacks` are hostile programs,
none of which may be accepted. `--native` also runs programs and asserts in that Node 20, instead
of only using recorded results. Exits with 1 if anything differs without a documented reason.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import grading  # noqa: E402, a module beside this one

HERE = pathlib.Path(__file__).resolve().parent / "javascript"
PROGRAMS, ATTACKS = HERE / "programs.jsonl", HERE / "attacks.jsonl"
ASSERTS = HERE / "asserts.jsonl"
PARTS = ("programs", "asserts", "attacks")
SECONDS = 20

# Limits of attacks: low, so that those that exhaust them finish quickly.
ATTACK_LIMITS = {"seconds": 1, "memory_mb": 128}

# Programs whose verdict differs from Node, with the reason, which `docs/graders/code.md` explains.
DIFFERENCES = {}


class NativeError(Exception):
    """A program or its test failed in Node."""


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--native", metavar="NODE", help="a Node 20 to run the programs in as well")
    parser.add_argument("--record", action="store_true", help="write the results of that Node")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part")
    given = parser.parse_args()
    if given.record and not given.native:
        parser.error("`--record` needs `--native NODE`")
    if not given.record and not given.binary:
        parser.error("pass the path of the `assay` binary, or `--record`")
    return given


def load(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def item(key, program, entry, limits=None):
    """An item of the grader. The exit status of a test is not part of its task."""
    tests = [
        {name: value for name, value in test.items() if name != "status"} for test in entry["tests"]
    ]
    fields = {name: entry[name] for name in ("prelude", "test_setup") if name in entry}
    checker = "exact" if "stdin" in tests[0] else "tokens"
    task = {"type": "code", "language": "javascript", "tests": tests, "checker": checker, **fields}
    task["limits"] = limits or grading.LIMITS
    return {"id": key, "task": task, "completion": f"```javascript\n{program}\n```\n"}


def expected(entry):
    failed = any(test.get("status", 0) for test in entry["tests"])
    return "runtime_error" if failed else "accepted"


def natively(node, entry, test):
    """The test with the results of Node as the expected ones."""
    with tempfile.TemporaryDirectory() as folder:
        is_module = "import.meta" in entry["program"] or "\nimport " in "\n" + entry["program"]
        file = pathlib.Path(folder, "main.mjs" if is_module else "main.js")
        file.write_text(entry["program"], encoding="utf-8")
        command, stdin = [node, str(file)], test.get("stdin", "")
        result = pathlib.Path(folder, "result.json")
        if "stdin" not in test:
            asked = {"program": entry["program"], "test_setup": entry.get("test_setup", "")}
            asked |= {"test": test, "result": str(result)}
            file = pathlib.Path(folder, "asked.json")
            file.write_text(json.dumps(asked), encoding="utf-8")
            command = [node, str(HERE / "worker.cjs"), str(file)]
        ended = subprocess.run(
            command,
            cwd=folder,
            input=stdin.encode(),
            env={"PATH": os.environ.get("PATH", ""), "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            timeout=SECONDS,
        )
        if "stdin" in test:
            return {"stdin": stdin, "stdout": ended.stdout.decode(), "status": ended.returncode}
        if not result.exists():
            # An uncaught error, or a promise that is never settled.
            raise NativeError(f"{entry['id']}: {ended.stderr.decode()[-300:]}")
        found = json.loads(result.read_text(encoding="utf-8"))
        if "raised" in found:
            raise NativeError(f"{entry['id']}: {found['raised']}")
        return {**test, "returns": found["returns"]} if "call" in test else test


def record(node):
    lines = []
    for entry in load(PROGRAMS):
        tests = [natively(node, entry, test) for test in entry["tests"]]
        lines.append(json.dumps({**entry, "tests": tests}, ensure_ascii=False) + "\n")
    PROGRAMS.write_text("".join(lines), encoding="utf-8")


def check_natively(node, entries):
    problems = []
    for entry in entries:
        for test in entry["tests"]:
            found = natively(node, entry, test)
            if found != test:
                problems.append(f"{entry['id']}: {json.dumps(found)[:200]}")
    return problems


def run_programs(given):
    entries = load(PROGRAMS)
    problems = check_natively(given.native, entries) if given.native else []
    items = [item(entry["id"], entry["program"], entry) for entry in entries]
    results = grading.grade(given.binary, items)
    agreed = 0
    for entry in entries:
        key, found = entry["id"], grading.word(results[entry["id"]])
        agrees = found == expected(entry)
        agreed += agrees
        if agrees and key in DIFFERENCES:
            problems.append(f"{key}: agrees; remove its documented difference")
        elif not agrees and key in DIFFERENCES:
            print(f"  {key}: {found}, natively {expected(entry)}: {DIFFERENCES[key]}")
        elif not agrees:
            reason = grading.reason(results[key], 300)
            problems.append(f"{key}: {found}, natively {expected(entry)}: {reason}")
    print(f"  {agreed} of {len(entries)} agree with native Node")
    return problems


def passes_natively(node, entry, program):
    try:
        natively(node, {**entry, "program": program}, entry["tests"][0])
    except (NativeError, subprocess.TimeoutExpired):
        return False
    return True


def run_asserts(given):
    entries, problems = load(ASSERTS), []
    for entry in entries if given.native else ():
        # A test that imports the program needs two files.
        if entry.get("is_module"):
            continue
        if not passes_natively(given.native, entry, entry["program"]):
            problems.append(f"{entry['id']}: fails natively")
        if passes_natively(given.native, entry, entry["wrong"]):
            problems.append(f"{entry['id']}: the wrong program passes natively")
    kinds = ("program", "wrong")
    items = [
        item(f"{entry['id']}/{kind}", entry[kind], entry) for entry in entries for kind in kinds
    ]
    results = grading.grade(given.binary, items)
    for key, result in results.items():
        found = grading.word(result)
        is_right = key.endswith("/program")
        if is_right != (found == "accepted") or result["verdict"] is None:
            problems.append(f"{key}: {found}: {grading.reason(result, 300)}")
    print(f"  {len(entries)} tests, each with a right program and a wrong one")
    return problems


def run_attacks(given):
    tasks, items, problems, words = load(ATTACKS), [], [], {}
    for task in tasks:
        items.append(item(task["task"], task["honest"], task, ATTACK_LIMITS))
        for name, program in task["attacks"].items():
            items.append(item(f"{task['task']}/{name}", program, task, ATTACK_LIMITS))
    results = grading.grade(given.binary, items)
    for key, result in results.items():
        found, is_attack = grading.word(result), "/" in key
        words[found] = words.get(found, 0) + is_attack
        is_scored = result["verdict"] is not None
        if is_attack and (found == "accepted" or not is_scored):
            problems.append(f"{key}: {found}: {grading.reason(result)}")
        if not is_attack and found != "accepted":
            problems.append(f"{key}: the honest program is {found}: {grading.reason(result)}")
    count = len(items) - len(tasks)
    listed = ", ".join(f"{word} {number}" for word, number in sorted(words.items()) if number)
    print(f"  {count} attacks on {len(tasks)} tasks: {listed}")
    return problems


def main():
    given = arguments()
    if given.record:
        record(given.native)
        return 0
    count = 0
    for part in given.part or PARTS:
        print(part, flush=True)
        run = {"programs": run_programs, "asserts": run_asserts, "attacks": run_attacks}[part]
        problems = run(given)
        for problem in problems:
            print(f"  PROBLEM {problem}")
        count += len(problems)
    print(f"{count} problems")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
