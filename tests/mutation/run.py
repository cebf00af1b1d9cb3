"""Mutates sampled places of crates and runs their tests: `run.py [--sample N] [--seed N] CRATE…`,
where CRATE is a folder such as `graders/math`. Prints the share of mutants that tests detect, and
every mutant that they do not.

All mutants are compiled at once, in a copy of the repository, and an environment variable selects
one. A mutant is detected if a test of its crate fails or times out, or, in a crate of `graders`, a
golden case gets a different verdict. A mutant that no test executes is marked as such.
"""

import argparse
import collections
import json
import os
import pathlib
import random
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
GOLDEN_CASES = "end_to_end::cases::every_grader_passes_its_golden_cases"
# A mutant may allocate without bound.
MEMORY = 8 << 30

SWITCH = """
#[doc(hidden)]
#[allow(warnings, clippy::all)]
pub(crate) fn __mutant(id: u32) -> bool {
    static SELECTED: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    let selected = SELECTED.get_or_init(|| std::env::var("ASSAY_MUTANT").ok()?.parse().ok());
    if *selected != Some(id) {
        return false;
    }
    if let Some(path) = std::env::var_os("ASSAY_MUTANT_EXECUTED") {
        let _ = std::fs::write(path, "");
    }
    true
}
"""


def copy_repository(tree):
    """Copies the files of the repository, and the compiled dependencies unless they exist."""
    shutil.rmtree(tree, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", "target", "models", "__pycache__")
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
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
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


def build(tree, packages):
    """The test executables of each package, and the locations of errors."""
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
            executables[str(package)].append(message["executable"])
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            for span in message["message"]["spans"]:
                errors.add((str(tree / span["file_name"]), span["line_start"], span["line_end"]))
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


def passes(command, folder, variables, seconds):
    """Whether all tests of a command pass within the time limit."""
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
    # The first failure decides.
    failed = any(line.startswith("test ") and "FAILED" in line for line in process.stdout)
    signal.alarm(0)
    if failed:
        end(process)
    return process.wait() == 0 and not failed


def end(process):
    """Ends the processes of a command, which may run workers."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def commands(crate, executables):
    """The commands that test a crate, the fastest first."""
    if crate.startswith("graders/"):
        golden = [[path, "--exact", GOLDEN_CASES] for path in executables["tests"]]
    else:
        golden = []
    return [[path] for path in executables[crate]] + golden


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
    mutants = [mutant | {"id": number} for number, mutant in enumerate(mutants, 1)]
    executables, mutants = compile_all(tree, packages, mutants)

    limits = {}
    for crate in options.crates:
        for command in commands(crate, executables):
            start = time.monotonic()
            if not passes(command, tree / crate, {}, 600):
                sys.exit(f"{' '.join(command)} fails without a mutant")
            limits[crate, command[0]] = 10 + round(5 * (time.monotonic() - start))

    executed = tree.parent / "executed"
    detected = collections.Counter()
    for mutant in mutants:
        crate = mutant["crate"]
        executed.unlink(missing_ok=True)
        variables = {"ASSAY_MUTANT": str(mutant["id"]), "ASSAY_MUTANT_EXECUTED": str(executed)}
        if all(
            passes(command, tree / crate, variables, limits[crate, command[0]])
            for command in commands(crate, executables)
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
