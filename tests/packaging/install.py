#!/usr/bin/env python3
"""Installs the built wheels into new environments and uses them, as `make test` does.

usage: install.py [FOLDER]

The wheel with the binary grades a program without a server, compiles its image once, and starts a
private node; the action for CI checks a dataset with it. The wheel without the binary can be
imported and reports that there is none. Prints the times and the sizes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import packages

HERE = Path(__file__).resolve().parent

NODE = """
import assay
with assay.serve() as node, assay.Client(node.url) as client:
    items = [{"completion": "`1/3`, so \\\\boxed{2/6}", "task": {"type": "math", "answer": "1/3"}}]
    print(client.grade(items).rewards())
"""

# The second task has no answer, which `assay check` reports.
ROWS = """{"task": {"type": "math", "answer": "1/3"}}
{"task": {"type": "math", "answer": ""}}
"""

# Exit status of `assay check` with findings.
FINDINGS = 1

NO_BINARY = """
import assay
try:
    assay.grade([{"completion": "1", "task": {"type": "math", "answer": "1"}}])
except assay.BinaryNotFoundError as error:
    print(error)
"""


def output_of(executables, cache, *command):
    """What a command of an environment prints. It sees no other binary and no other images."""
    variables = {
        "PATH": f"{executables}:/usr/bin:/bin",
        "HOME": str(cache),
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        [str(executables / command[0]), *map(str, command[1:])],
        env=variables,
        cwd=cache,
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    if done.returncode:
        sys.exit(f"install.py: `{command}` failed with status {done.returncode}")
    return done.stdout


def expect(found, expected):
    if found != expected:
        sys.exit(f"install.py: expected {expected!r}, found {found!r}")


def check_platform_wheel(wheel, folder):
    started = time.monotonic()
    executables = packages.environment(folder / "platform", wheel)
    print(f"installed {wheel.name}: {time.monotonic() - started:.1f} s with a new environment")
    for name in ("man/man1/assay.1", "man/man1/assay-grades.1", "zsh/site-functions/_assay"):
        expect((folder / "platform/share" / name).is_file(), True)
    home = folder / "home"
    home.mkdir()
    for start in ("first", "second"):
        reply = json.loads(output_of(executables, home, "python", HERE / "first_reward.py"))
        expect(reply["rewards"], [1.0, 0.0])
        print(f"{start} start: {reply['seconds']:.2f} s from `import assay` to the rewards")
    listed = output_of(executables, home, "assay", "images", "--json").splitlines()
    images = [image for image in map(json.loads, listed) if image["installed"]]
    states = {image["image"]: image["compiled"] for image in images}
    expect(states["python"], True)
    expect(states["javascript"], False)
    expect(output_of(executables, home, "python", "-c", NODE).strip(), "[1.0]")
    expect(len(list(home.glob(".cache/assay/images/*/python.*.cwasm"))), 1)


def check_action(wheel, folder):
    """The action for CI installs the wheel and finds the gold answer that its own task rejects."""
    (folder / "rows.jsonl").write_text(ROWS)
    variables = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "RUNNER_TEMP": str(folder),
        "PACKAGE": str(wheel),
        "DATASETS": "rows.jsonl\n",
        "SARIF": "found.sarif",
    }
    done = subprocess.run(
        ["bash", packages.REPOSITORY / "deploy/ci/check.sh"],
        env=variables,
        cwd=folder,
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    expect(done.returncode, FINDINGS)
    runs = json.loads((folder / "found.sarif").read_text())["runs"]
    expect(len(runs[0]["results"]) > 0, True)


def check_pure_wheel(wheel, folder):
    executables = packages.environment(folder / "pure", wheel)
    message = output_of(executables, folder, "python", "-c", NO_BINARY)
    if "install that wheel" not in message:
        sys.exit(f"install.py: the error does not say what to install: {message}")


def size_of(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sum(path.stat().st_size for path in files) / 1e6


def main():
    dist = Path(sys.argv[1] if sys.argv[1:] else packages.REPOSITORY / "dist")
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        wheel = packages.platform_wheel(dist)
        check_platform_wheel(wheel, folder)
        check_action(wheel, folder)
        check_pure_wheel(packages.pure_wheel(dist), folder)
        binary = (folder / "platform/bin/assay").stat().st_size / 1e6
        images = size_of(folder / "platform/share/assay/images")
        print(
            f"{wheel.name} has {wheel.stat().st_size / 1e6:.1f} MB: the binary unpacks to "
            f"{binary:.1f} MB, packaged images to {images:.1f} MB; compiled images take "
            f"{size_of(folder / 'home/.cache'):.1f} MB"
        )


if __name__ == "__main__":
    main()
