#!/usr/bin/env python3
"""Compares the CPU time of C and C++ programs with native GCC: compilations, runs, and a batch.

usage: cpp.py PATH/TO/assay [--part NAME]... [--programs N] [--rounds N] [--batch N]

No program is submitted twice, so nothing is cached.

`compilations`: times of single submissions to a service that has graded a few before. They include
compilation to an object, linking, compilation to machine code, and the run of a trivial test. Those
of one kind differ in a constant. `again` is the same program with another test.
`varied`: the same times of different programs that include `bits/stdc++.h`.
`runs`: the time of a CPU-bound run is a quarter of the difference between five tests and one, from
the minimum of the rounds. Natively and in the one worker, runs follow each other.
`batch`: a batch of programs with 20 tests each on all processors.
"""

import argparse
import concurrent.futures
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "cpp"
VARIED = Path(__file__).resolve().parents[1] / "native" / "cpp" / "programs.jsonl"

# `NUMBER` is replaced by a number that no earlier program contains.
TRIVIAL = {
    "C": r'''#include <stdio.h>
int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return NUMBER;
    printf("%d\n", 2 * n);
    return 0;
}
''',
    "iostream": r'''#include <iostream>
int main() {
    int n;
    if (!(std::cin >> n)) return NUMBER;
    std::cout << 2 * n << '\n';
}
''',
    "bits/stdc++.h": r'''#include <bits/stdc++.h>
using namespace std;
int main() {
    int n;
    cin >> n;
    vector<int> v(n);
    iota(v.begin(), v.end(), NUMBER);
    sort(v.rbegin(), v.rend());
    map<int, string> names;
    for (int x : v) names[x] = to_string(x);
    cout << (names.size() == v.size() ? 2 * n : 0) << '\n';
}
''',
}
TESTS = [{"stdin": "7\n", "stdout": "14\n"}]
OTHER_TESTS = [{"stdin": "9\n", "stdout": "18\n"}]

# Submissions before the first one that is measured.
WARM_UP = 10


def language_of(kind):
    return "c" if kind == "C" else "cpp"


def numbered(kind, number):
    return TRIVIAL[kind].replace("NUMBER", str(number))


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]


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
    """CPU seconds of grading items, all of which must be accepted, and the work of the first."""
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    names = [str(folder / "items.jsonl"), "-o", str(folder / "results.jsonl"), "--jobs", "1"]
    # One worker, so that runs do not share a processor core with each other.
    alone = {**os.environ, "ASSAY_SANDBOX_WORKERS_COUNT": "1"}
    seconds = cpu([binary, "grade", *names], env=alone, capture_output=True)
    results = [json.loads(line) for line in (folder / "results.jsonl").open()]
    if [result["verdict"] for result in results] != ["accepted"] * len(items):
        sys.exit(f"not every program was accepted: {results[0]}")
    return seconds, results[0]["measures"]["work"]


def item(language, text, tests):
    task = {"type": "code", "language": language, "tests": tests}
    task["limits"] = {"seconds": 60, "memory_mb": 512}
    return {"completion": f"```{language}\n{text}\n```", "task": task}


def compiled(text, language, folder):
    """A natively compiled program, and CPU seconds of its compilation."""
    source, program = folder / f"program.{language}", folder / "program"
    source.write_text(text)
    compiler, standard = ("gcc", "gnu17") if language == "c" else ("g++", "gnu++17")
    command = [compiler, "-O2", f"-std={standard}", "-o", program, source, "-lm"]
    return program, cpu(command, capture_output=True)


def native(text, language, folder, stdin):
    """CPU seconds of compiling a program and running it natively."""
    program, compiling = compiled(text, language, folder)
    return compiling + native_run(program, stdin)


def native_run(program, stdin):
    """CPU seconds of a native run."""
    options = {"input": stdin, "stdout": subprocess.DEVNULL, "preexec_fn": allow_deep_recursion}
    return cpu([program], **options)


def children(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as ids:
            yield from map(int, ids.read().split())


def cpu_of(pid):
    """CPU seconds of a running process, without those of its children."""
    # The clock of another process, as `clock_getcpuclockid` returns it.
    return time.clock_gettime((~pid << 3) | 2)


class Service:
    """A running service, whose first submissions were graded."""

    def __init__(self, binary, folder):
        command = [binary, "serve", "--listen", "127.0.0.1:0"]
        command += ["--database", f"sqlite://{folder}/measured.db"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = next((line for line in self.process.stderr if "listening" in line), "")
        address = re.search(r"127\.0\.0\.1:\d+", line)
        if not address:
            sys.exit("the service did not start")
        self.url = f"http://{address[0]}/v1/grade"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def cpu(self):
        processes = [self.process.pid, *children(self.process.pid)]
        return sum(map(cpu_of, processes))

    def grade(self, one):
        """Wall and CPU seconds of one submission, which must be accepted."""
        wall, seconds, verdict = self.verdict(one)
        if verdict != "accepted":
            sys.exit(f"the verdict of a program is `{verdict}`")
        return wall, seconds

    def verdict(self, one):
        """Wall and CPU seconds of one submission, and its verdict."""
        body = json.dumps({"items": [one]}).encode()
        request = urllib.request.Request(
            self.url, body, {"content-type": "application/json"}
        )
        began, before = time.perf_counter(), self.cpu()
        with urllib.request.urlopen(request, timeout=300) as reply:
            result = json.load(reply)["results"][0]
        wall, seconds = time.perf_counter() - began, self.cpu() - before
        return wall, seconds, result["verdict"]


def compile_times(options, folder):
    with Service(options.binary, folder) as service:
        warm_up(service)
        print(f"{options.programs} single submissions of each kind, p50 and p99 in ms")
        print(f"{'':14} {'CPU':>12} {'wall':>12} {'again, CPU':>12} {'GCC, CPU':>12}")
        for kind in TRIVIAL:
            language, graded, again, natives = language_of(kind), [], [], []
            for number in range(options.programs):
                text = numbered(kind, number + 1)
                graded.append(service.grade(item(language, text, TESTS)))
                again.append(service.grade(item(language, text, OTHER_TESTS)))
                natives.append(native(text, language, folder, b"7\n"))
            columns = [[cpu for _, cpu in graded], [wall for wall, _ in graded]]
            columns += [[cpu for _, cpu in again], natives]
            print(f"{kind:14} {texts_of(columns, 99)}")


def varied_times(options, folder):
    rows = map(json.loads, VARIED.open(encoding="utf-8"))
    rows = [row for row in rows if row["language"] == "cpp" and "bits/stdc++.h" in row["program"]]
    with Service(options.binary, folder) as service:
        warm_up(service)
        graded, natives = [], []
        for row in rows:
            text, stdin = row["program"], row["tests"][0]["stdin"]
            tests = [{"stdin": stdin, "stdout": row["tests"][0].get("stdout", "")}]
            wall, seconds, verdict = service.verdict(item("cpp", text, tests))
            if verdict == "accepted":
                graded.append((wall, seconds))
                natives.append(native(text, "cpp", folder, stdin.encode()))
    print(f"{len(graded)} programs with `bits/stdc++.h`, p50 and p90 in ms")
    print(f"{'':14} {'CPU':>12} {'wall':>12} {'GCC, CPU':>12}")
    columns = [[cpu for _, cpu in graded], [wall for wall, _ in graded], natives]
    print(f"{'varied':14} {texts_of(columns, 90)}")


def warm_up(service):
    for kind in TRIVIAL:
        for number in range(WARM_UP):
            service.grade(item(language_of(kind), numbered(kind, -number - 1), TESTS))


def texts_of(columns, high):
    """The median and a high percentile of each column, and the ratio of the first to the last."""
    texts = [
        f"{1000 * percentile(column, 50):.0f} {1000 * percentile(column, high):5.0f}"
        for column in columns
    ]
    ratio = percentile(columns[0], 50) / percentile(columns[-1], 50)
    return " ".join(f"{text:>12}" for text in texts) + f" {ratio:6.2f} x"


def run_times(options, folder):
    binary, ratios = options.binary, []
    for path in sorted(PROGRAMS.glob("*.cpp")):
        text = path.read_text()
        program, _ = compiled(text, "cpp", folder)
        expected = subprocess.check_output([program], text=True, preexec_fn=allow_deep_recursion)
        # Runs with equal input are cached, so each test has its own.
        tests = [{"stdin": " " * at, "stdout": expected} for at in range(5)]
        items = [[item("cpp", text, some)] for some in (tests[:1], tests)]
        rounds = []
        for _ in range(options.rounds):
            natives = min(native_run(program, b"") for _ in tests)
            (one, work), (five, _) = (grade(binary, folder, some) for some in items)
            rounds.append((natives, one, five))
        theirs, one, five = map(min, zip(*rounds))
        ours = (five - one) / 4
        ratios.append(ours / theirs)
        print(
            f"{path.stem:14} {1000 * ours:7.0f} ms, g++ -O2 {1000 * theirs:6.0f} ms; "
            f"{ratios[-1]:.2f} x; {work / theirs:.1e} units of work per native second"
        )
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(f"geometric mean {mean:.2f} x")


def batch(options, folder):
    """Grades different programs on all processors, and does the same natively."""
    tests = [{"stdin": f"{n}\n", "stdout": f"{2 * n}\n"} for n in range(1, 21)]
    texts = [numbered("bits/stdc++.h", -1000 - number) for number in range(options.batch)]
    items = [item("cpp", text, tests) for text in texts]
    (folder / "items.jsonl").write_text("".join(json.dumps(one) + "\n" for one in items))
    names = [str(folder / "items.jsonl"), "-o", str(folder / "results.jsonl")]
    began = time.perf_counter()
    seconds = cpu([options.binary, "grade", *names], capture_output=True)
    wall = time.perf_counter() - began
    verdicts = [json.loads(line)["verdict"] for line in (folder / "results.jsonl").open()]
    accepted = verdicts.count("accepted")
    print(f"{options.batch} programs with 20 tests: {wall:.0f} s, {seconds:.0f} CPU s")
    if accepted != len(items):
        sys.exit(f"only {accepted} of {len(items)} programs were accepted")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda text: natively(text, tests), texts))
    wall_natively, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    theirs = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if not all(done):
        sys.exit("not every program gave the expected output natively")
    print(f"natively: {wall_natively:.0f} s, {theirs:.0f} CPU s; CPU {seconds / theirs:.2f} x")


def natively(text, tests):
    """Compiles and runs a program natively. Returns whether its output is as expected."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "program.cpp"), str(Path(folder, "program"))
        source.write_text(text)
        command = ["g++", "-O2", "-std=gnu++17", "-o", program, str(source)]
        subprocess.run(command, check=True, capture_output=True)
        outputs = (
            subprocess.run([program], input=test["stdin"], capture_output=True, text=True).stdout
            for test in tests
        )
        return [test["stdout"] for test in tests] == list(outputs)


PARTS = {
    "compilations": compile_times,
    "varied": varied_times,
    "runs": run_times,
    "batch": batch,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    for name in options.part or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            PARTS[name](options, Path(folder))


main()
