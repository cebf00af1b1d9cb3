#!/usr/bin/env python3
"""Compares the CPU time of C and C++ programs with native GCC: compilations, runs, and a batch.

usage: cpp.py PATH/TO/assay [--rounds N] [--batch N]

The compiled programs differ in a comment, so nothing is cached. Times of compilations include
linking, compilation to machine code, and the run of a trivial test, and are the median of the
rounds. The time of a CPU-bound run is half the difference between three tests and one, from the
minimum of the rounds.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "cpp"

TRIVIAL = {
    "c": "#include <stdio.h>\nint main(void) { int n; scanf(\"%d\", &n); printf(\"%d\\n\", 2 * n); }\n",
    "cpp": "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << 2 * n << '\\n'; }\n",
    "bits/stdc++.h": """#include <bits/stdc++.h>
using namespace std;
int main() {
    int n;
    cin >> n;
    vector<int> v(n);
    iota(v.begin(), v.end(), 0);
    sort(v.rbegin(), v.rend());
    map<int, string> names;
    for (int x : v) names[x] = to_string(x);
    cout << (names.size() == v.size() ? 2 * n : 0) << '\\n';
}
""",
}


def cpu(command, **options):
    """CPU seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def allow_deep_recursion():
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (most, most))


def grade(binary, folder, items):
    """CPU seconds of grading items, all of which must be accepted."""
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    names = [str(folder / "items.jsonl"), "-o", str(folder / "results.jsonl"), "--jobs", "1"]
    seconds = cpu([binary, "grade", *names], capture_output=True)
    results = [json.loads(line) for line in (folder / "results.jsonl").open()]
    if [result["verdict"] for result in results] != ["accepted"] * len(items):
        sys.exit(f"not every program was accepted: {results[0]}")
    return seconds


def item(language, text, tests):
    task = {"type": "code", "language": language, "tests": tests}
    task["limits"] = {"seconds": 60, "memory_mb": 512}
    return {"completion": f"```{language}\n{text}\n```", "task": task}


def native(text, language, folder, stdin):
    """CPU seconds of compiling and of running natively."""
    source = folder / f"program.{language}"
    source.write_text(text)
    compiler, standard = ("gcc", "gnu17") if language == "c" else ("g++", "gnu++17")
    program = str(folder / "program")
    command = [compiler, "-O2", f"-std={standard}", "-o", program, str(source), "-lm"]
    compiling = cpu(command, capture_output=True)
    options = {"input": stdin, "stdout": subprocess.PIPE, "preexec_fn": allow_deep_recursion}
    running = cpu([program], **options)
    output = subprocess.run([program], check=True, **options).stdout
    return compiling, running, output.decode()


def compile_times(binary, folder, rounds):
    start = min(grade(binary, folder, [item("c", TRIVIAL["c"], TESTS)]) for _ in range(rounds))
    for name, text in TRIVIAL.items():
        language = "c" if name == "c" else "cpp"
        times, natively = [], []
        for number in range(rounds):
            changed = f"{text}// {number}\n"
            seconds = grade(binary, folder, [item(language, changed, TESTS)])
            times.append(seconds)
            compiling, running, _ = native(changed, language, folder, b"7\n")
            natively.append(compiling + running)
        ours, theirs = statistics.median(times), statistics.median(natively)
        print(
            f"{name:14} {1000 * ours:7.0f} ms with the start of `assay`, median; "
            f"GCC {1000 * theirs:5.0f} ms; {ours / theirs:.2f} x"
        )
    print(f"a C program with the start of `assay`: {1000 * start:.0f} ms, minimum")


TESTS = [{"stdin": "7\n", "stdout": "14\n"}]


def run_times(binary, folder, rounds):
    ratios = []
    for path in sorted(PROGRAMS.glob("*.cpp")):
        text = path.read_text()
        natives = [native(text, "cpp", folder, b"") for _ in range(rounds)]
        expected, theirs = natives[0][2], min(running for _, running, _ in natives)
        # Runs with equal input are cached, so each test has its own.
        tests = [{"stdin": " " * at, "stdout": expected} for at in range(3)]
        three, one = (
            min(grade(binary, folder, [item("cpp", text, some)]) for _ in range(rounds))
            for some in (tests, tests[:1])
        )
        ours = (three - one) / 2
        ratios.append(ours / theirs)
        print(
            f"{path.stem:14} {1000 * ours:7.0f} ms, g++ -O2 {1000 * theirs:6.0f} ms; "
            f"{ratios[-1]:.2f} x"
        )
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(f"geometric mean {mean:.2f} x")


def batch(binary, folder, size):
    """Measures different programs with 20 tests each on all processors."""
    tests = [{"stdin": f"{n}\n", "stdout": f"{2 * n}\n"} for n in range(1, 21)]
    text = TRIVIAL["bits/stdc++.h"]
    items = [item("cpp", f"{text}// {number}\n", tests) for number in range(size)]
    (folder / "items.jsonl").write_text("".join(json.dumps(one) + "\n" for one in items))
    names = [str(folder / "items.jsonl"), "-o", str(folder / "results.jsonl")]
    started = os.times().elapsed
    seconds = cpu([binary, "grade", *names], capture_output=True)
    wall = os.times().elapsed - started
    verdicts = [json.loads(line)["verdict"] for line in (folder / "results.jsonl").open()]
    accepted = verdicts.count("accepted")
    print(f"{size} programs with 20 tests: {wall:.0f} s, {seconds:.0f} CPU s, {accepted} accepted")
    sample = [native(f"{text}// {number}\n", "cpp", folder, b"7\n") for number in range(4)]
    each = statistics.median(compiling + 20 * running for compiling, running, _ in sample)
    print(f"natively: {size * each:.0f} CPU s, from the median of {len(sample)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_times(options.binary, folder, options.rounds)
        run_times(options.binary, folder, options.rounds)
        batch(options.binary, folder, options.batch)


main()
