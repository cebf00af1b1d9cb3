#!/usr/bin/env python3
"""Compares verdicts of JavaScript programs with the results of native Node.

usage: javascript.py PATH/TO/assay [--native NODE] [--part NAME]...
       javascript.py --native NODE --record

Parts: `programs` must get the verdicts that correspond to their native results; `asserts` are
tests that a right program must pass and a wrong one must not; `attacks` are hostile programs,
none of which may be accepted. `--native` also runs programs and asserts in that Node 20, instead
of only using recorded results. Exits with 1 if anything differs without a documented reason.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import comparison  # noqa: E402, a module beside this one
import grading  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "javascript"
SECONDS = 20

# Programs whose verdict differs from Node, with the reason, which `docs/graders/code.md` explains.
DIFFERENCES = {}


class NativeError(Exception):
    """A program or its test failed in Node."""


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


def natively(node, entry):
    """The entry with the results of Node as the expected ones."""
    return {**entry, "tests": [run(node, entry, test) for test in entry["tests"]]}


def run(node, entry, test):
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


def passes_natively(node, entry, program):
    try:
        run(node, {**entry, "program": program}, entry["tests"][0])
    except (NativeError, subprocess.TimeoutExpired):
        return False
    return True


def run_asserts(given):
    entries, problems = COMPARISON.load("asserts.jsonl"), []
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


COMPARISON = comparison.Comparison(
    usage=__doc__,
    peer="native Node",
    metavar="NODE",
    native_help="a Node 20 to run the programs in as well",
    folder=HERE,
    differences=DIFFERENCES,
    item=item,
    expected=expected,
    natively=natively,
    other_parts={"asserts": run_asserts},
)

if __name__ == "__main__":
    sys.exit(COMPARISON.main())
