#!/usr/bin/env python3
"""Compares verdicts of C and C++ programs with the results of native GCC.

usage: cpp.py PATH/TO/assay [--native G++] [--part NAME]... [--every N]
       cpp.py --native G++ --record

Parts: `programs` must get the verdicts that correspond to their native results; `attacks` are
hostile programs, none of which may be accepted. `--native` also compiles the programs with that
GCC 12 and runs them, instead of only using recorded results. Exits with 1 if anything differs
without a documented reason.
"""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import comparison  # noqa: E402, a module beside this one
import grading  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "cpp"

# Wall time in seconds of a native compilation or run. The limit on CPU time ends most runs earlier.
SECONDS = 120

# Default of the task's limit on output.
OUTPUT_BYTES = 1 << 20

# What a native process maps besides its data: libraries, and the reserve of its allocator.
MAPPED_BYTES = 64 << 20

# The exit status that a shell reports for a process that a signal ended.
SIGNALLED = 128

# Why verdicts differ from GCC, and the programs concerned. `docs/graders/code.md` and the README of
# the guest explain each reason.
REASONS = {
    "long_double": "`long double` has 128 bits",
    "order": "arguments are evaluated from left to right",
    "initialisation": "the order of initialisation that the standard leaves open differs",
    "library": "sizes, texts, or values that only libstdc++ or glibc defines",
    "headers": "headers are precompiled, so more names are declared than a program includes",
    "newer": "the compiler and its library are newer than GCC 12",
    "lenient": "clang accepts what GCC 12 rejects",
    "extension": "clang lacks this extension of GCC",
    "allocations": "clang removes an allocation whose memory is not used",
    "addresses": "addresses have 32 bits, and the allocator does not check what is freed",
    "main": "the status of a `main` without result is 0, and undefined in GCC",
}
CONCERNED = {
    "long_double": "num-long-double-sizes num-long-double-digits",
    "order": "lang-order-of-arguments",
    "initialisation": "lang-static-init-order-of-templates lang-constructor-attribute",
    "library": (
        "num-from-chars-double lang-rtti lang-clocks-per-second lang-null-pointer-printed"
        " lang-exception-texts-of-library c-negative-nan"
    ),
    "headers": (
        "missing-include-cstring missing-include-climits missing-include-algorithm"
        " missing-include-cmath missing-include-queue"
    ),
    "newer": "cpp20-format-is-new cpp23-print-is-new cpp23-deducing-this-is-new",
    "lenient": "std-mismatch-designated-order ce-narrowing-constant",
    "extension": "c-nested-function",
    "allocations": "bad-alloc-caught",
    "addresses": "re-double-free re-free-invalid re-vector-index",
    "main": "c-void-main-status",
}
DIFFERENCES = {key: REASONS[name] for name, keys in CONCERNED.items() for key in keys.split()}


def stdin(test):
    """Standard input of a test, which may consist of repetitions."""
    return test["stdin"] * test.get("repeat", 1)


def item(key, program, entry, limits=None):
    """An item of the grader."""
    tests = [{"stdin": stdin(test), "stdout": test.get("stdout", "")} for test in entry["tests"]]
    task = {"type": "code", "language": entry["language"], "tests": tests, "checker": "exact"}
    task["limits"] = limits or entry.get("limits") or grading.LIMITS
    fence = "cpp" if "+" in entry["language"] or entry["language"] == "cpp" else "c"
    return {"id": key, "task": task, "completion": f"```{fence}\n{program}```\n"}


def expected(entry):
    if "verdict" in entry:
        return entry["verdict"]
    if not entry.get("compiles", True):
        return "compile_error"
    statuses = [test["status"] for test in entry["tests"] if test["status"]]
    if not statuses:
        return "accepted"
    is_slow = statuses[0] == SIGNALLED + signal.SIGXCPU
    return "time_limit" if is_slow else "runtime_error"


def standard(language):
    """The standard with which the grader compiles a language."""
    version = "".join(re.findall(r"\d+", language))
    if language.strip("0123456789") == "c":
        return "gnu17"
    return f"gnu++{version}" if version in ("20", "23") else "gnu++17"


def natively(compiler, entry):
    """The entry with the results of GCC. Output is recorded only if the entry has no verdict."""
    is_c = standard(entry["language"]) == "gnu17"
    path = pathlib.Path(compiler)
    command = [str(path.with_name(path.name.replace("g++", "gcc"))) if is_c else compiler]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "main.c" if is_c else "main.cpp")
        source.write_text(entry["program"], encoding="utf-8")
        command += ["-O2", f"-std={standard(entry['language'])}", "-DONLINE_JUDGE"]
        command += ["-o", "program", source.name, "-lm"]
        compiled = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS)
        if compiled.returncode:
            return {**entry, "compiles": False}
        tests = [run(folder, entry, test) for test in entry["tests"]]
        return {**entry, "tests": tests}


def run(folder, entry, test):
    limits = entry.get("limits") or grading.LIMITS
    memory = limits["memory_mb"] << 20

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"] + 1))
        resource.setrlimit(resource.RLIMIT_STACK, (memory, memory))
        resource.setrlimit(resource.RLIMIT_AS, (memory + MAPPED_BYTES, memory + MAPPED_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    output = pathlib.Path(folder, "stdout")
    with output.open("wb") as file:
        ended = subprocess.run(
            [str(pathlib.Path(folder, "program"))],
            cwd=folder,
            input=stdin(test).encode(),
            stdout=file,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "TZ": "UTC"},
            preexec_fn=limit,
            timeout=SECONDS,
        )
    status = ended.returncode if ended.returncode >= 0 else SIGNALLED - ended.returncode
    if "verdict" in entry:
        return {**test, "status": status}
    return {**test, "stdout": output.read_bytes().decode(), "status": status}


COMPARISON = comparison.Comparison(
    usage=__doc__,
    peer="native GCC",
    metavar="G++",
    native_help="a g++ 12, with gcc beside it, to compile and run the programs with as well",
    folder=HERE,
    differences=DIFFERENCES,
    item=item,
    expected=expected,
    natively=natively,
)

if __name__ == "__main__":
    sys.exit(COMPARISON.main())
