"""Runs fuzz targets one after another with libFuzzer: `run.py [--seconds N] [TARGET…] [-- LIBFUZZER
OPTIONS]`; by default all of them.

Needs `cargo install cargo-fuzz --locked`. The corpus is kept beside the build output. Inputs that
make a target fail are written to `fuzz/artifacts/TARGET`; once the cause is fixed, move them to
`cases/TARGET`, which the test suite runs.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import seeds

HERE = pathlib.Path(__file__).parent.resolve()
# Longest input in bytes: long enough for every construct, short enough for many executions.
LONGEST = {
    "math_decide": 1000,
    "math_read": 1000,
    "parquet": 16384,
    "sql_image": 16384,
    "sql_statement": 1000,
}
LIMITS = ["-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1"]


def targets():
    """Returns the targets and their features from the manifest."""
    manifest = tomllib.loads((HERE / "fuzz/Cargo.toml").read_text())
    return {binary["name"]: binary["required-features"][0] for binary in manifest["bin"]}


def fuzz(target, feature, seconds, corpus, options):
    """Runs a target; returns its executions and whether it failed."""
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    given = [path for path in [HERE / "seeds" / target, HERE / "cases" / target] if path.is_dir()]
    dictionary = HERE / "dictionaries" / f"{feature}.dict"
    limits = [*LIMITS, f"-max_len={LONGEST.get(target, 4096)}", f"-max_total_time={seconds}"]
    if dictionary.exists():
        limits.append(f"-dict={dictionary}")
    command = [
        os.environ.get("CARGO", "cargo"),
        "fuzz",
        "run",
        "--fuzz-dir",
        HERE / "fuzz",
        "--sanitizer",
        "none",
    ]
    command += [
        "--no-default-features",
        "--features",
        feature,
        target,
        folder,
        *given,
        "--",
        *limits,
        *options,
    ]
    # Targets that need files write them to a memory file system.
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as temporary:
        environment = os.environ | {"TMPDIR": temporary}
        process = subprocess.Popen(
            command, cwd=HERE, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        executions = 0
        for line in process.stderr:
            sys.stderr.write(line)
            if found := re.match(r"stat::number_of_executed_units:\s*(\d+)|#(\d+)\s", line):
                executions = int(found[1] or found[2])
    return executions, process.wait() != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600, help="seconds for each target")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="one of: " + ", ".join(targets())
    )
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    arguments, options = parser.parse_args(given[:at]), given[at + 1 :]
    known = targets()
    if unknown := [name for name in arguments.targets if name not in known]:
        parser.error(f"no target `{unknown[0]}`; the targets are {', '.join(known)}")
    output = os.environ.get("CARGO_TARGET_DIR") or HERE / "fuzz/target"
    corpus = pathlib.Path(output).resolve() / "corpus"
    seeds.write(corpus)
    rows = []
    for target in arguments.targets or known:
        executions, failed = fuzz(target, known[target], arguments.seconds, corpus, options)
        rows.append((target, executions, failed))
    print(f"{'target':<16}{'executions':>14}  result")
    for target, executions, failed in rows:
        print(f"{target:<16}{executions:>14,}  {'failed' if failed else 'ok'}")
    sys.exit(any(failed for _, _, failed in rows))


if __name__ == "__main__":
    main()
