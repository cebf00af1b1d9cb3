"""Programs with their results in native CPython: reads, records and grades them.

A line of `programs/*.jsonl` is a program with the tests of a task; a test of standard input also
has the exit status. The name of the file is the topic.
"""

import json
import pathlib

import cpython
import grading

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "programs"

# Why verdicts of the grader may differ from native CPython, and the programs concerned.
# `docs/graders/code.md` explains each reason.
REASONS = {
    "hash": "hashes have 32 bits",
    "library": "a standard-library function that a program returns is not the same object as the test's own",
    "empty_path": "an empty path is the working directory",
}
DIFFERENCES = {
    "numbers-hash-width": "hash",
    "numbers-random-seed-by-hash": "hash",
    "asserts-identity-of-library-things": "library",
    "system-files-missing": "empty_path",
}


def load():
    """Every program, in the order of files and lines, with its topic."""
    found = []
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            found.append({"idiom": path.stem, **json.loads(line)})
    return found


def kind(entry):
    return next(name for name in ("stdin", "call", "assert", "pytest") if name in entry["tests"][0])


def asked(test):
    """A test without its exit status, which is not part of the task but decides the expected
    verdict.
    """
    return {name: value for name, value in test.items() if name != "status"}


def item(entry, key=None, tests=None):
    tests = [asked(test) for test in tests or entry["tests"]]
    fields = {name: entry.get(name) for name in ("prelude", "test_setup")}
    checker = "exact" if kind(entry) == "stdin" else None
    return grading.item(
        key or entry["id"], entry["program"], grading.code_task(tests, checker=checker, **fields)
    )


def expected(entry):
    """The verdict that corresponds to the result of native CPython."""
    statuses = [test.get("status", 0) for test in entry["tests"]]
    return "runtime_error" if any(statuses) else "accepted"


def natively(python, entry, test, seed):
    """A test with native CPython's results as the expected ones."""
    if "stdin" in test:
        stdout, status, stderr = cpython.stdin_test(python, entry["program"], test["stdin"], seed)
        return {"stdin": test["stdin"], "stdout": stdout, "status": status}, stderr
    got = cpython.test(python, entry, test, seed)
    if "call" in test:
        return {**test, "returns": got["returns"]}, ""
    if "raised" in got:
        raise cpython.Failed(f"the assert fails natively: {got['raised']}")
    return test, ""


def check_natively(python, entries, seeds=("1",)):
    """Differences between the recorded results and those of this CPython."""
    problems = []
    for entry in entries:
        for test in entry["tests"]:
            for seed in seeds:
                try:
                    got, _ = natively(python, entry, test, seed)
                    if got != test:
                        problems.append(f"{entry['id']}: {show(got)}, recorded {show(test)}")
                except cpython.Failed as error:
                    problems.append(f"{entry['id']}: {error}")
    return problems


def show(test):
    return json.dumps(
        {name: test.get(name) for name in ("stdout", "status", "returns") if name in test}
    )[:200]


def record(python, entries, seeds=("1", "2")):
    """Writes native CPython's results into the files. Refuses programs that depend on the hash
    seed.
    """
    if not cpython.version(python).startswith("Python 3.13."):
        raise SystemExit(
            f"recording needs CPython 3.13, not {cpython.version(python)}; pass another `--native PYTHON`"
        )
    problems, lines = [], {}
    for entry in entries:
        try:
            runs = [
                [natively(python, entry, test, seed) for test in entry["tests"]] for seed in seeds
            ]
        except cpython.Failed as error:
            problems.append(f"{entry['id']}: {error}")
            continue
        tests = [[test for test, _ in run] for run in runs]
        if any(other != tests[0] for other in tests):
            problems.append(f"{entry['id']}: depends on the hash seed")
        for test, stderr in runs[0]:
            if test.get("status"):
                print(
                    f"  {entry['id']}: status {test['status']}: {stderr.strip().rpartition(chr(10))[2][:100]}"
                )
        kept = {name: value for name, value in entry.items() if name != "idiom"}
        lines.setdefault(entry["idiom"], []).append(
            json.dumps({**kept, "tests": tests[0]}, ensure_ascii=False) + "\n"
        )
    if problems:
        raise SystemExit("\n".join(["nothing recorded:", *problems]))
    for idiom, texts in lines.items():
        (FOLDER / f"{idiom}.jsonl").write_text("".join(texts), encoding="utf-8")


def report(entries, results):
    """Prints agreement by idiom and the documented differences; returns all other differences."""
    counts, documented, problems = {}, [], []
    for entry in entries:
        key, found = entry["id"], grading.word(results[entry["id"]])
        agrees = found == expected(entry)
        right, total = counts.get(entry["idiom"], (0, 0))
        counts[entry["idiom"]] = (right + agrees, total + 1)
        line = f"{key}: {found}, natively {expected(entry)}"
        if agrees and key in DIFFERENCES:
            problems.append(f"{key}: agrees; remove its documented difference")
        elif not agrees and key in DIFFERENCES:
            documented.append(f"{line}: {REASONS[DIFFERENCES[key]]}")
        elif not agrees:
            problems.append(f"{line}: {grading.reason(results[key])}")
    for idiom, (right, total) in counts.items():
        print(f"  {idiom:12} {right:4} of {total:4}")
    agreed = sum(right for right, _ in counts.values())
    print(f"  {'all':12} {agreed:4} of {len(entries):4} agree with native CPython")
    for text in documented:
        print(f"  {text}")
    return problems
