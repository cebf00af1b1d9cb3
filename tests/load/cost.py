"""Measures the cost of a trivial test in Python and JavaScript: CPU time and page faults of `assay
grade`, including startup and compilation.

With a second binary, both run alternately and ratios are printed. Each binary uses the images of
its own cache folder: `cost.py BINARY[:CACHE] [OTHER[:CACHE]]`, where CACHE is the value of
`XDG_CACHE_HOME`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = 100
TESTS = 20

# Test number k, a program that passes all tests, and its language.
KINDS = {
    "standard input": (
        lambda k: {"stdin": f"{k}\n", "stdout": f"{2 * k}\n"},
        "print(int(input()) * 2)",
        "python",
    ),
    "call": (
        lambda k: {"call": "f", "args": [k], "returns": 2 * k},
        "def f(x):\n    return x * 2",
        "python",
    ),
    "assert": (
        lambda k: {"assert": f"assert f({k}) == {2 * k}"},
        "def f(x):\n    return x * 2",
        "python",
    ),
    "assert with a list": (
        lambda k: {"assert": f"assert f([{k}, 2, 3]) == {k + 5}"},
        "def f(x):\n    return sum(x)",
        "python",
    ),
    "JavaScript": (
        lambda k: {"stdin": f"{k}\n", "stdout": f"{2 * k}\n"},
        "console.log(Number(require('fs').readFileSync(0, 'utf8')) * 2);",
        "javascript",
    ),
    "JavaScript, call": (
        lambda k: {"call": "f", "args": [k], "returns": 2 * k},
        "const f = (x) => x * 2;",
        "javascript",
    ),
    "JavaScript, assert": (
        lambda k: {"assert": f"assert.strictEqual(f({k}), {2 * k});"},
        "const f = (x) => x * 2;",
        "javascript",
    ),
    "JavaScript, assert with a list": (
        lambda k: {"assert": f"assert.deepStrictEqual(f([{k}, 2]), [{2 * k}, 4]);"},
        "const f = (xs) => xs.map((x) => x * 2);",
        "javascript",
    ),
}


# With `--numpy`: a program that runs in the image `python-scientific`.
NUMPY = (
    lambda k: {"stdin": f"{k}\n", "stdout": f"{3 * k}\n"},
    "import numpy as np\nprint(np.full(3, int(input())).sum())",
    "python",
)


def items(test, program, language):
    """Different programs, so that no result is cached."""
    for number in range(PROGRAMS):
        task = {"type": "code", "language": language, "tests": [test(k) for k in range(TESTS)]}
        yield {"completion": f"```{language}\nNUMBER = {number}\n{program}\n```", "task": task}


def run(binary, folder):
    """CPU seconds and page faults of one run."""
    path, _, cache = binary.partition(":")
    environment = os.environ | ({"XDG_CACHE_HOME": cache} if cache else {})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        path,
        "grade",
        str(folder / "items.jsonl"),
        "-o",
        str(folder / "results.jsonl"),
        "--jobs",
        "1",
    ]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    verdicts = [json.loads(line)["verdict"] for line in (folder / "results.jsonl").open()]
    if verdicts != ["accepted"] * PROGRAMS:
        sys.exit(f"`{path}`: not every program was accepted: {sorted(set(map(str, verdicts)))}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_minflt - before.ru_minflt


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binaries", nargs="+", metavar="BINARY[:CACHE]")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="only kinds whose name contains this text")
    parser.add_argument("--numpy", action="store_true", help="also measure a test with numpy")
    options = parser.parse_args()
    if options.numpy:
        KINDS["numpy"] = NUMPY
    if options.only:
        for kind in [kind for kind in KINDS if options.only not in kind]:
            del KINDS[kind]
    print(f"{PROGRAMS} programs with {TESTS} tests each; minimum of {options.rounds} runs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, described in KINDS.items():
            with (folder / "items.jsonl").open("w") as file:
                file.writelines(json.dumps(item) + "\n" for item in items(*described))
            runs = {binary: [] for binary in options.binaries}
            for _ in range(options.rounds):
                for binary, measured in runs.items():
                    measured.append(run(binary, folder))
            least = [tuple(map(min, zip(*measured))) for measured in runs.values()]
            for binary, (seconds, faults) in zip(runs, least):
                each, ratio = PROGRAMS * TESTS, seconds / least[0][0]
                print(
                    f"{kind:32}{1000 * seconds / each:7.3f} ms{faults / each:7.1f} page faults"
                    f"{ratio:7.2f} x  {binary}"
                )


main()
