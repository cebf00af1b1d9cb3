"""Mutates sampled places of crates and runs their tests: `run.py [--sample N] [--seed N] CRATE…`,
where CRATE is a folder such as `graders/math`. Prints the share of mutants that tests detect, and
every mutant that they do not.

All mutants are compiled at once, in a copy of the repository, and an environment variable selects
one. A mutant is detected if a test of its crate fails or times out, or, in a crate of `graders`, a
golden case gets a different verdict. A mutant that no test executes is marked as such.

Mutants of code that runs only in sandbox workers are never executed: workers start with an empty
environment, so no mutant can be selected in them.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CARGO = os.environ.get("CARGO", "cargo")
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Tests of the whole service, whose golden cases also test the graders.
SUITE = "assay-tests"
SUITE_TARGET = "suite"
GOLDEN_CASES = "end_to_end::cases::every_grader_passes_its_golden_cases"
# A mutant may allocate without bound.
MEMORY = 8 << 30
# The id that selects no mutant.
NO_MUTANT = 0

SWITCH = """
#[doc(hidden)]
#[allow(warnings, clippy::all)]
pub(crate) fn __mutant(id: u32) -> bool {
    static SELECTED: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    let selected = SELECTED.get_or_init(|| std::env::var("MUTANT").ok()?.parse().ok());
    if *selected != Some(id) {
        return false;
    }
    if let Some(path) = std::env::var_os("MUTANT_EXECUTED") {
        let _ = std::fs::write(path, "");
    }
    true
}
"""


def copy_repository(tree):
    """Copies the files of the repository, and the compiled dependencies unless they exist."""

    def ignored(folder, names):
        # Sources also have folders called `models`.
        at_root = {".git", "target", "models"} if pathlib.Path(folder) == ROOT else set()
        return (at_root | {"__pycache__"}) & set(names)

    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, ignore=ignored)
    debug = tree.parent / "target/debug"
    if not debug.exists() and (TARGET / "debug").exists():
        ignored = shutil.ignore_patterns("incremental", "examples", "assay*", "libassay*")
        shutil.copytree(TARGET / "debug", debug, ignore=ignored, symlinks=True)


def places(tree, crate):
    """Everything in a crate that can be mutated."""
    source = tree / crate / "src"
    files = [
        path
        for path in sorted(source.rglob("*.rs"))
        if path.name != "tests.rs" and "tests" not in path.relative_to(source).parts
    ]
    manifest = ROOT / "tests/mutation/Cargo.toml"
    command = [CARGO, "run", "--quiet", "--locked", "--manifest-path", manifest, "--", *files]
    variables = {"CARGO_TARGET_DIR": str(TARGET.resolve())}
    output = subprocess.run(
        command, check=True, env=os.environ | variables, stdout=subprocess.PIPE, text=True
    ).stdout
    return [json.loads(line) | {"crate": crate} for line in output.splitlines()]


def sampled(found, size, seed):
    """Places that do not overlap, at most one per line."""
    random.Random(seed).shuffle(found)
    taken = []
    for mutant in found:
        overlaps = any(
            mutant["file"] == other["file"]
            and (
                mutant["line"] == other["line"]
                or mutant["from"] < other["to"]
                and other["from"] < mutant["to"]
            )
            for other in taken
        )
        if not overlaps:
            taken.append(mutant)
        if len(taken) == size:
            break
    return taken


def insert(roots, mutants, originals):
    """Writes the files with these mutants. Lines keep their numbers."""
    for path, text in originals.items():
        for mutant in sorted(mutants, key=lambda mutant: -mutant["from"]):
            if mutant["file"] == path:
                condition = f"crate::__mutant({mutant['id']})"
                mutated = mutant["mutated"].replace("MUTANT", condition)
                text = text[: mutant["from"]] + mutated.encode() + text[mutant["to"] :]
        if path in roots:
            text += SWITCH.encode()
        written = pathlib.Path(path)
        if written.read_bytes() != text:
            written.write_bytes(text)


def location(tree, span):
    """The file and lines of a compiler's span; of the macro call, if a macro of another crate
    contains the span."""
    while not (path := tree / span["file_name"]).is_relative_to(tree) and span["expansion"]:
        span = span["expansion"]["span"]
    return str(path), span["line_start"], span["line_end"]


def build(tree, packages):
    """The test executables of each package with the names of their targets, and the locations of
    errors."""
    command = [CARGO, "build", "--locked", "--keep-going", "--tests", "--message-format", "json"]
    for package in packages:
        command += ["--package", package]
    variables = {"CARGO_TARGET_DIR": str(tree.parent / "target"), "CARGO_INCREMENTAL": "0"}
    run = subprocess.run(
        command, cwd=tree, env=os.environ | variables, capture_output=True, text=True
    )
    executables, errors = collections.defaultdict(list), set()
    for line in run.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            package = pathlib.Path(message["manifest_path"]).parent.relative_to(tree)
            executable = (message["target"]["name"], message["executable"])
            executables[str(package)].append(executable)
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            # Other spans show what the error refers to, which may be another mutant.
            for span in message["message"]["spans"]:
                if span["is_primary"]:
                    errors.add(location(tree, span))
    if run.returncode and not errors:
        sys.exit(run.stderr)
    return executables, errors


def compile_all(tree, packages, mutants):
    """Compiles all mutants; returns the executables and the mutants that are valid Rust."""
    roots = {str(tree / crate / "src/lib.rs") for crate in packages.values()}
    files = roots | {mutant["file"] for mutant in mutants}
    originals = {path: pathlib.Path(path).read_bytes() for path in files}
    while True:
        insert(roots, mutants, originals)
        executables, errors = build(tree, [*packages, SUITE])
        if not errors:
            return executables, mutants
        valid = [
            mutant
            for mutant in mutants
            if not any(
                mutant["file"] == file
                and first <= mutant["line"] + mutant["original"].count("\n")
                and mutant["line"] <= last
                for file, first, last in errors
            )
        ]
        if len(valid) == len(mutants):
            sys.exit(f"does not compile: {sorted(errors)}")
        mutants = valid


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def run_tests(command, folder, variables, seconds):
    """The number of tests that pass; `None` if one fails or the time limit is exceeded."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=limit_memory,
    )
    signal.signal(signal.SIGALRM, lambda *_: end(process))
    signal.alarm(seconds)
    passed, failed = 0, False
    for line in process.stdout:
        if line.startswith("test ") and "FAILED" in line:
            # The first failure decides.
            failed = True
            break
        if summary := re.match(r"test result: ok\. (\d+) passed", line):
            passed += int(summary[1])
    signal.alarm(0)
    if failed:
        end(process)
    return passed if process.wait() == 0 and not failed else None


def end(process):
    """Ends the processes of a command, which may run workers."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def commands(crate, executables):
    """The commands that test a crate, the fastest first, and whether each runs a single test."""
    own = [([path], False) for _, path in executables[crate]]
    if not crate.startswith("graders/"):
        return own
    [suite] = [path for name, path in executables["tests"] if name == SUITE_TARGET]
    return [*own, ([suite, "--exact", GOLDEN_CASES], True)]


def measure_limits(tree, crates, executables):
    """Runs all tests without a mutant; returns the time limit of each command in seconds."""
    limits = {}
    for crate in crates:
        for command, is_single in commands(crate, executables):
            start = time.monotonic()
            passed = run_tests(command, tree / crate, {"MUTANT": str(NO_MUTANT)}, 600)
            if passed is None:
                sys.exit(f"`{' '.join(command)}` fails without a mutant")
            if is_single and passed != 1:
                sys.exit(f"`{' '.join(command)}` runs {passed} tests instead of 1")
            limits[crate, command[0]] = 10 + round(5 * (time.monotonic() - start))
    return limits


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("crates", nargs="+", metavar="CRATE")
    parser.add_argument("--sample", type=int, default=25, help="mutants per crate")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tree = TARGET.resolve() / "mutation/assay"
    copy_repository(tree)
    packages = {}
    mutants = []
    for crate in options.crates:
        manifest = (tree / crate / "Cargo.toml").read_text()
        packages[manifest.partition('name = "')[2].partition('"')[0]] = crate
        mutants += sampled(places(tree, crate), options.sample, options.seed)
    mutants = [mutant | {"id": number} for number, mutant in enumerate(mutants, NO_MUTANT + 1)]
    size = len(mutants)
    executables, mutants = compile_all(tree, packages, mutants)
    print(f"{size - len(mutants)} of {size} mutants discarded: not valid Rust", flush=True)
    for crate in options.crates:
        if all(mutant["crate"] != crate for mutant in mutants):
            sys.exit(f"{crate}: no mutants left")
    limits = measure_limits(tree, options.crates, executables)

    executed = tree.parent / "executed"
    detected = collections.Counter()
    for mutant in mutants:
        crate = mutant["crate"]
        executed.unlink(missing_ok=True)
        variables = {"MUTANT": str(mutant["id"]), "MUTANT_EXECUTED": str(executed)}
        if all(
            run_tests(command, tree / crate, variables, limits[crate, command[0]]) is not None
            for command, _ in commands(crate, executables)
        ):
            place = f"{pathlib.Path(mutant['file']).relative_to(tree)}:{mutant['line']}"
            reason = "" if executed.exists() else " (not executed)"
            print(f"{place}{reason}: `{mutant['original']}`", flush=True)
        else:
            detected[crate] += 1
    for crate in options.crates:
        size = sum(mutant["crate"] == crate for mutant in mutants)
        print(f"{crate}: {detected[crate]} of {size} mutants detected")
    print(f"{detected.total()} of {len(mutants)} mutants detected")


main()
