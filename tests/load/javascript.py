"""Compares the CPU time of JavaScript programs that keep a core busy with native Node.

usage: javascript.py PATH/TO/assay [--native NODE] [--rounds N]

Each program prints a checksum. Both sides run it with the same input; the time of an empty program
is subtracted. Also grades 1,000 different programs with 20 tests each, and prints the wall time.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "empty": "",
    "loop": "let x = 1; for (let i = 0; i < 1e8; i++) x = (x * 31 + i) % 1000003; console.log(x);",
    "sieve": "const n = 1e7, a = new Uint8Array(n); let c = 0;\n"
    "for (let i = 2; i < n; i++) { if (!a[i]) { c++; for (let j = 2 * i; j < n; j += i) a[j] = 1; } }\n"
    "console.log(c);",
    "recursion": "const f = (n) => (n < 2 ? n : f(n - 1) + f(n - 2)); console.log(f(34));",
    "maps": "const m = new Map(); for (let i = 0; i < 1e6; i++) { const k = 'k' + (i * 7919) % 50021;\n"
    "m.set(k, (m.get(k) ?? 0) + i); } let s = 0; for (const v of m.values()) s = (s + v) % 1000003;\n"
    "console.log(s);",
    "sorting": "let x = 7; const a = Array.from({ length: 4e5 }, () => (x = (x * 48271) % 2147483647));\n"
    "a.sort((p, q) => p - q); console.log(a[0], a[1e5]);",
}

COUNT, TESTS = 1_000, 20


def cpu_of(command, folder):
    """The CPU seconds of a command, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, cwd=folder, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        sys.exit(f"{command[0]} failed: {ended.stderr.decode(errors='replace')[-2000:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, ended.stdout.decode()


def grade(binary, folder, rows):
    """The CPU seconds of grading these items. Each must be accepted."""
    path = pathlib.Path(folder, "items.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    used, _ = cpu_of([binary, "grade", path.name, "-o", "results.jsonl"], folder)
    for line in pathlib.Path(folder, "results.jsonl").read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        if result["verdict"] != "accepted":
            sys.exit(f"not accepted: {line[:2000]}")
    return used


def item(program, tests):
    task = {"type": "code", "language": "javascript", "tests": tests, "limits": {"seconds": 60}}
    return {"completion": f"```js\n{program}\n```", "task": task}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay", type=os.path.abspath)
    parser.add_argument("--native", default="node", help="the executable of Node")
    parser.add_argument("--rounds", type=int, default=3, help="runs, of which the fastest counts")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        empty = None
        for name, program in PROGRAMS.items():
            pathlib.Path(folder, "main.js").write_text(program, encoding="utf-8")
            native, sandbox = [], []
            for _ in range(given.rounds):
                used, output = cpu_of([given.native, "main.js"], folder)
                native.append(used)
                rows = [item(program, [{"stdin": "", "stdout": output}])]
                sandbox.append(grade(given.assay, folder, rows))
            if empty is None:
                empty = min(native), min(sandbox)
                continue
            native, sandbox = min(native) - empty[0], min(sandbox) - empty[1]
            print(
                f"{name:12} native {native * 1000:6.0f} ms  sandbox {sandbox * 1000:6.0f} ms"
                f"  {sandbox / max(native, 0.001):5.1f} x"
            )
        program = "const n = Number(require('fs').readFileSync(0, 'utf8'));\nconsole.log(n + {});"
        rows = [
            item(
                program.format(number),
                [{"stdin": f"{test}\n", "stdout": f"{test + number}\n"} for test in range(TESTS)],
            )
            for number in range(COUNT)
        ]
        began = time.monotonic()
        used = grade(given.assay, folder, rows)
        print(
            f"{COUNT} programs with {TESTS} tests: {time.monotonic() - began:.1f} s,"
            f" {used * 1000 / COUNT / TESTS:.2f} ms of CPU time a test"
        )


main()
