#!/usr/bin/env python3
"""Prints what programs without an end cost, by language: processor seconds until their verdict, on
a quiet machine and beside busy processes.

usage: runaways.py PATH/TO/assay [--busy N] [--only NAME]...

Each program is graded by a run of its own with default limits. `with a reference` means that the
task has a reference that does little work. Fails if a verdict differs beside busy processes, if an
item has none, or if one costs more than `MOST` processor seconds on the quiet machine.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

MOST = 15.0

WALK = "data = bytearray(1_600_000_000)\nwhile True:\n    for at in range(0, len(data), 4096):\n        data[at] += 1\n"
TEMPLATES = """template <int N> struct Tree { static const long value = Tree<N - 1>::value + Tree<N - 2>::value * N; };
template <> struct Tree<0> { static const long value = 0; };
template <> struct Tree<1> { static const long value = 1; };
template <int N, int M> struct Grid {
    static const long value = Grid<N - 1, M>::value + Grid<N, M - 1>::value;
};
template <int M> struct Grid<0, M> { static const long value = Tree<M>::value; };
template <int N> struct Grid<N, 0> { static const long value = N; };
int main() { return Grid<800, 800>::value & 1; }
"""

# Language, name, program, fields of the task.
RUNAWAYS = (
    ("python", "loop", "while True:\n    pass\n", {}),
    ("python", "loop with a reference", "while True:\n    pass\n", {"reference": "print(1)\n"}),
    ("python", "recursion", "def f(n):\n    return f(n - 1) + f(n - 2) if n > 1 else 1\nprint(f(90))\n", {}),
    ("python", "dictionary", "d, i = {}, 0\nwhile True:\n    d[i * 7919 % 1_000_003] = i\n    i += 1\n", {}),
    ("python", "large integers", "x = 3\nwhile True:\n    x = x * x % (1 << 100_000)\n", {}),
    ("python", "threads", "import threading\nwhile True:\n    t = threading.Thread(target=int)\n    t.start()\n    t.join()\n", {}),
    ("python", "standard error", "import sys\nwhile True:\n    sys.stderr.write('x' * 1000)\n", {}),
    ("python", "regular expression", "import re\nre.match('(a*)*b', 'a' * 60)\n", {}),
    ("python", "walk over memory", WALK, {"limits": {"memory_mb": 2048}}),
    ("python", "numpy", "import numpy as np\na = np.random.rand(1_000_000)\nwhile True:\n    a = np.sort(a[::-1])\n", {}),
    ("javascript", "loop", "for (;;);\n", {}),
    ("javascript", "objects", "for (;;) { const a = []; for (let i = 0; i < 1e5; i++) a.push({ i }); }\n", {}),
    ("cpp", "loop", "int main() { for (volatile unsigned x = 0;;) x++; }\n", {}),
    ("cpp", "map", "#include <map>\nint main() { std::map<unsigned, int> m; for (unsigned i = 0;; i++) m[i * 2654435761u % 3000000]++; }\n", {}),
    ("cpp", "walk over memory", "#include <vector>\nint main() { std::vector<char> v(1600000000); volatile char *p = v.data(); for (;;) for (long i = 0; i < 1600000000; i += 4096) p[i]++; }\n", {"limits": {"memory_mb": 2048}}),
    ("cpp", "templates", TEMPLATES, {}),
    ("c", "loop", "int main(void) { for (volatile unsigned x = 0;;) x++; }\n", {}),
)


def graded(binary, language, program, fields):
    """The result of a program, and the processor seconds of the run."""
    tests = [{"stdin": "", "stdout": "1\n"}]
    task = {"type": "code", "language": language, "tests": tests, **fields}
    item = {"id": "1", "task": task, "completion": f"```{language}\n{program}```\n"}
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "item.jsonl"), Path(folder, "result.jsonl")
        asked.write_text(json.dumps(item) + "\n", encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(Path(binary).resolve()), "grade", "--jobs", "1", str(asked), "-o", str(answered)]
        subprocess.run(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = json.loads(answered.read_text(encoding="utf-8"))
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return result["verdict"] or result["outcome"], result["deterministic"], seconds


def beside_busy_processes(count, measure):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        return measure()
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--busy", type=int, default=2 * (os.cpu_count() or 1), metavar="N")
    parser.add_argument("--only", action="append", metavar="NAME", help="language or program")
    options = parser.parse_args()
    problems = []
    print(f"{'':<36}{'verdict':<16}{'CPU s':>7}{f'beside {options.busy} busy':>16}")
    for language, name, program, fields in RUNAWAYS:
        if options.only and not {language, name} & set(options.only):
            continue

        def measure():
            return graded(options.binary, language, program, fields)

        verdict, deterministic, alone = measure()
        other, _, beside = beside_busy_processes(options.busy, measure)
        mark = "" if deterministic else "  by CPU time"
        print(f"{f'{language}: {name}':<36}{verdict:<16}{alone:>7.1f}{beside:>16.1f}{mark}", flush=True)
        if verdict != other:
            problems.append(f"{language}: {name}: {verdict}, but {other} beside busy processes")
        if verdict in ("failed", "ungradable"):
            problems.append(f"{language}: {name}: {verdict}")
        if alone > MOST:
            problems.append(f"{language}: {name}: {alone:.1f} CPU seconds")
    for problem in problems:
        print(f"PROBLEM {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
