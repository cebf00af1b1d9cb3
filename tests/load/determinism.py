"""Checks that work and verdicts do not depend on load: grades the same program in 1,000 different
tasks of each language, in two processes at once, while other processes keep the machine busy.

usage: determinism.py PATH/TO/assay [--tasks N]

Exits with 1 unless all tasks of a language are accepted with the same amounts of work.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# For each language, a program and its asserts, or None if it has only tests of standard input. One
# test waits for a timer.
PROGRAMS = {
    "python": (
        "import time\n"
        "def f(xs):\n"
        "    time.sleep(0.001)\n"
        "    return sorted({x * 2 for x in xs})\n"
        "if __name__ == '__main__':\n"
        "    print(sum(f(map(int, input().split()))))\n",
        ["assert f([3, 1, 3]) == [2, 6]", "assert f(x for x in [1]) == [2]"],
    ),
    "javascript": (
        "const f = (xs) => [...new Set(xs)].map((x) => x * 2).sort((a, b) => a - b);\n"
        "const later = (x) => new Promise((r) => setTimeout(r, 5, x));\n"
        "if (require.main === module) {\n"
        "  const text = require('fs').readFileSync(0, 'utf8');\n"
        "  console.log(f(text.split(' ').map(Number)).reduce((a, b) => a + b));\n"
        "}\n",
        [
            "assert.deepStrictEqual(f([3, 1, 3]), [2, 6]);",
            "assert.strictEqual(await later(4), 4); assert.deepStrictEqual(f([1]), [2]);",
        ],
    ),
    "typescript": (
        "const f = (xs: number[]): number[] =>\n"
        "  [...new Set(xs)].map((x) => x * 2).sort((a, b) => a - b);\n"
        "if (require.main === module) {\n"
        "  const text: string = require('fs').readFileSync(0, 'utf8');\n"
        "  console.log(f(text.split(' ').map(Number)).reduce((a, b) => a + b));\n"
        "}\n",
        ["assert.deepStrictEqual(f([3, 1, 3] as number[]), [2, 6]);"],
    ),
    "cpp": (
        "#include <bits/stdc++.h>\n"
        "int main() {\n"
        "    std::unordered_set<int> numbers;\n"
        "    for (int x; std::cin >> x;) numbers.insert(x);\n"
        "    int sum = 0;\n"
        "    for (int x : numbers) try { throw 2 * x; } catch (int doubled) { sum += doubled; }\n"
        "    while (clock() < CLOCKS_PER_SEC / 1000) {}\n"
        "    std::cout << sum << std::endl;\n"
        "}\n",
        None,
    ),
    "c": (
        "#include <stdio.h>\n"
        "int main(void) {\n"
        "    int x, seen[10] = {0}, sum = 0;\n"
        "    while (scanf(\"%d\", &x) == 1) if (!seen[x % 10]++) sum += 2 * x;\n"
        '    printf("%d\\n", sum);\n'
        "    return 0;\n"
        "}\n",
        None,
    ),
}


def items(language, count):
    """Tasks that differ in a file that no program reads, so that no result is cached."""
    program, asserts = PROGRAMS[language]
    tests = [{"stdin": "3 1 3", "stdout": "8\n"}]
    if asserts is not None:
        tests.append({"call": "f", "args": [[3, 1, 3]], "returns": [2, 6]})
        tests += [{"assert": text} for text in asserts]
    for number in range(count):
        task = {"type": "code", "language": language, "tests": tests}
        task["files"] = {"number.txt": str(number)}
        yield {"task": task, "completion": f"```{language}\n{program}```\n"}


def write(path, entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")


def command(binary, asked, answered):
    return [str(Path(binary).resolve()), "grade", str(asked), "-o", str(answered)]


def results(path):
    """How many tasks have each result: the verdict, and the verdict and work of each test."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        tests = [test[:2] for test in (result.get("evidence") or {}).get("results", [])]
        key = json.dumps([result["verdict"] or result["outcome"], tests])
        found[key] = found.get(key, 0) + 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--tasks", type=int, default=1000)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Processes that compete for the processors and for memory bandwidth.
        busy = "x = list(range(1 << 20))\nwhile True: x.reverse(); sum(x)"
        load = [subprocess.Popen([sys.executable, "-c", busy]) for _ in range(os.cpu_count() or 1)]
        try:
            for language in PROGRAMS:
                asked, answered = folder / f"{language}.jsonl", folder / f"{language}.out"
                other = folder / "other.out"
                write(asked, items(language, options.tasks))
                run = [
                    subprocess.Popen(
                        command(options.binary, asked, out), cwd=folder, stderr=subprocess.DEVNULL
                    )
                    for out in (answered, other)
                ]
                if any([process.wait() for process in run]):
                    sys.exit(f"{language}: `assay grade` failed")
                found = results(answered)
                for key, count in results(other).items():
                    found[key] = found.get(key, 0) + count
                for key, count in found.items():
                    print(f"{language:12}{count:6} tasks: {key}")
                is_same = len(found) == 1 and next(iter(found)).startswith('["accepted"')
                failed |= not is_same
        finally:
            for process in load:
                process.kill()
                process.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
