"""Mutates sampled places of crates and runs their tests: `run.py [--sample N] [--seed N] CRATE…`,
where CRATE is a folder such as `graders/math`. Prints the share of mutants that tests detect, and
every mutant that they do not.

All mutants of a crate are compiled at once, in a copy of the repository, and an environment
variable selects one. A mutant is detected if a test of its crate fails or does not end; one that no
test executes is listed as such.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CARGO = os.environ.get("CARGO", "cargo")
SECONDS = 120

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


def places(tree, crate):
    """Everything in a crate that can be mutated."""
    files = [
        path
        for path in sorted((tree / crate / "src").rglob("*.rs"))
        if path.name != "tests.rs" and "tests" not in path.relative_to(tree / crate / "src").parts
    ]
    manifest = ROOT / "tests/mutation/Cargo.toml"
    command = [CARGO, "run", "--quiet", "--locked", "--manifest-path", manifest, "--", *files]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def sampled(found, size, seed):
    """Places that do not overlap, at most one of each line."""
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
    return [mutant | {"id": number} for number, mutant in enumerate(taken, 1)]


def insert(tree, crate, mutants, originals):
    """Writes the files with these mutants. Lines keep their numbers."""
    for path, text in originals.items():
        for mutant in sorted(mutants, key=lambda mutant: -mutant["from"]):
            if mutant["file"] == path:
                condition = f"crate::__mutant({mutant['id']})"
                mutated = mutant["mutated"].replace("MUTANT", condition)
                text = text[: mutant["from"]] + mutated.encode() + text[mutant["to"] :]
        pathlib.Path(path).write_bytes(text)
    root = tree / crate / "src/lib.rs"
    root.write_bytes(root.read_bytes() + SWITCH.encode())


def compiled(tree, package):
    """The test executables of a package, and the places of errors if it does not compile."""
    command = [CARGO, "test", "--locked", "--no-run", "--package", package]
    command += ["--message-format", "json"]
    run = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    executables, errors = [], set()
    for line in run.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            executables.append(message["executable"])
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            for span in message["message"]["spans"]:
                errors.add((str(tree / span["file_name"]), span["line_start"], span["line_end"]))
    if run.returncode and not errors:
        sys.exit(run.stderr)
    return executables, errors


def detected(executables, folder, variables):
    """Whether a test fails or does not end."""
    for executable in executables:
        try:
            run = subprocess.run(
                [executable, "--quiet"],
                cwd=folder,
                env=os.environ | variables,
                capture_output=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return True
        if run.returncode:
            return True
    return False


def test(tree, crate, size, seed):
    """Runs the tests of a crate with each mutant; returns how many were detected, of how many."""
    manifest = (tree / crate / "Cargo.toml").read_text()
    package = manifest.partition('name = "')[2].partition('"')[0]
    mutants = sampled(places(tree, crate), size, seed)
    root = str(tree / crate / "src/lib.rs")
    files = {root, *(mutant["file"] for mutant in mutants)}
    originals = {path: pathlib.Path(path).read_bytes() for path in files}
    while True:
        insert(tree, crate, mutants, originals)
        executables, errors = compiled(tree, package)
        invalid = [
            mutant
            for mutant in mutants
            for file, first, last in errors
            if mutant["file"] == file
            and first <= mutant["line"] + mutant["original"].count("\n")
            and mutant["line"] <= last
        ]
        if not errors:
            break
        if not invalid:
            sys.exit(f"`{package}` does not compile: {sorted(errors)}")
        mutants = [mutant for mutant in mutants if mutant not in invalid]
    if detected(executables, tree / crate, {}):
        sys.exit(f"the tests of `{package}` fail without a mutant")
    killed = 0
    for mutant in mutants:
        executed = tree / "executed"
        executed.unlink(missing_ok=True)
        variables = {"ASSAY_MUTANT": str(mutant["id"]), "ASSAY_MUTANT_EXECUTED": str(executed)}
        if detected(executables, tree / crate, variables):
            killed += 1
            continue
        place = f"{pathlib.Path(mutant['file']).relative_to(tree)}:{mutant['line']}"
        reason = "" if executed.exists() else " (not executed)"
        print(f"{place}{reason}: `{mutant['original']}`", flush=True)
    for path, text in originals.items():
        pathlib.Path(path).write_bytes(text)
    print(f"{crate}: {killed} of {len(mutants)} mutants detected", flush=True)
    return killed, len(mutants)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("crates", nargs="+", metavar="CRATE")
    parser.add_argument("--sample", type=int, default=25, help="mutants of a crate")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name).resolve() / "assay"
        ignored = shutil.ignore_patterns(".git", "target", "models", "__pycache__")
        shutil.copytree(ROOT, tree, ignore=ignored)
        results = [test(tree, crate, options.sample, options.seed) for crate in options.crates]
    killed, total = map(sum, zip(*results))
    print(f"{killed} of {total} mutants detected")


main()
