#!/usr/bin/env python3
"""Grades the same 1,000 items of all graders in three ways, and compares the bytes of verdicts,
scores and rewards: by the wheel as installed, by a server, and by `assay grade` of another binary.

usage: equal.py BINARY [FOLDER]

BINARY is the one that `make build` prints, with the images of `make images`; FOLDER contains the
wheels. Items are golden cases (`tests/cases`) of tasks that need only the images of the main wheel.
"""

import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import packages

CASES = packages.REPOSITORY / "tests/cases"
GRADERS = ("code", "sql", "tools", "structured", "text", "math")
COUNT = 1000
FIELDS = ["verdict", "score", "reward", "outcome"]
LANGUAGES = ("python", "javascript", "typescript")
# Modules of the image `python-scientific`.
SCIENTIFIC = ("bitarray", "mpmath", "networkx", "numpy", "pytest", "regex", "sympy")

BY_WHEEL = """
import json, sys, assay
items = [json.loads(line) for line in open(sys.argv[1])]
for result in assay.grade(items, fields=["verdict", "score", "reward", "outcome"]).to_dicts():
    print(json.dumps(result))
"""


def is_usable(case):
    """Whether Python can send the case, and it needs only the images of the main wheel."""
    try:
        json.dumps(case, allow_nan=False)
    except ValueError:
        # Python reads a number beyond the range of its floats as infinity.
        return False
    task = case["task"]
    if task["type"] == "sql":
        return task.get("dialect") != "postgres"
    if task["type"] != "code":
        return True
    text = json.dumps(case)
    return task.get("language", "python") in LANGUAGES and not any(
        module in text for module in SCIENTIFIC
    )


def chosen():
    """The first cases of each grader in turn, until there are enough."""
    cases = {}
    for grader in GRADERS:
        lines = (CASES / f"{grader}.jsonl").read_text().splitlines()
        read = [json.loads(line) for line in lines if line.strip()]
        cases[grader] = [case for case in read if is_usable(case)]
    # The smaller lists are used whole; those of `math` fill the rest.
    mixed = [case for grader in GRADERS for case in cases[grader]][:COUNT]
    if len(mixed) < COUNT:
        sys.exit(f"equal.py: there are only {len(mixed)} cases")
    return mixed


def canonical(results):
    """One line for each result."""
    keys = sorted(FIELDS)
    return b"".join(
        json.dumps({key: result.get(key) for key in keys}).encode() + b"\n" for result in results
    )


def by_wheel(wheel, folder, items):
    python = packages.environment(folder / "environment", wheel) / "python"
    done = subprocess.run([python, "-c", BY_WHEEL, items], check=True, stdout=subprocess.PIPE)
    return canonical(map(json.loads, done.stdout.splitlines()))


def by_command(binary, items):
    command = [binary, "grade", items, "--fields", ",".join(FIELDS)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return canonical(map(json.loads, done.stdout.splitlines()))


def by_server(binary, folder, items):
    command = [binary, "serve", "--listen", "127.0.0.1:0", "--print-url", "--exit-on-stdin-close"]
    command += ["--database", f"sqlite://{folder}/equal.db"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        url = server.stdout.readline().decode().strip()
        body = {"fields": FIELDS, "items": [json.loads(line) for line in open(items)]}
        request = urllib.request.Request(f"{url}/v1/grade", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=300) as reply:
            results = json.load(reply)["results"]
        server.stdin.close()
    return canonical(results)


def main():
    binary, *rest = sys.argv[1:] or sys.exit(__doc__)
    dist = Path(rest[0]) if rest else packages.REPOSITORY / "dist"
    cases = chosen()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        items = folder / "items.jsonl"
        lines = [
            json.dumps({key: case[key] for key in case if key not in ("name", "verdict")})
            for case in cases
        ]
        items.write_text("\n".join(lines) + "\n")
        replies = {
            "the wheel": by_wheel(packages.platform_wheel(dist), folder, items),
            "a server": by_server(binary, folder, items),
            "`assay grade`": by_command(binary, items),
        }
    (first, expected), *others = replies.items()
    for name, reply in others:
        for at, (one, other) in enumerate(zip(expected.splitlines(), reply.splitlines())):
            if one != other:
                print(f"{cases[at]['name']}: {first}: {one.decode()}; {name}: {other.decode()}")
        if reply != expected:
            sys.exit(f"equal.py: {first} and {name} differ")
    types = {name: sum(case["task"]["type"] == name for case in cases) for name in GRADERS}
    print(f"{len(cases)} items, {types}: {len(expected)} bytes of results are equal in "
          f"{', '.join(replies)}")  # fmt: skip


if __name__ == "__main__":
    main()
