#!/usr/bin/env python3
"""Grades a file as a job and with `assay grade`, with small batches beside the job, and compares
the results line by line.

usage: jobs.py PATH/TO/assay [--items N] [--kill-every S] [--batches PER_SECOND]

Then replays the grades as a job, and with an option also by `assay replay`.
With `--kill-every`, the node is killed at this interval and started again. Prints items a second of
both, the time of the batches beside the job and without it, and those of the replay. The exit
status is 1 if a result differs, an item is missing or was recorded twice, the two replays differ,
or no kill occurred that was asked for.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

# Changes the verdict of some items, and only tasks of one type accept it.
OPTION = {"match": "normalised"}

KEYS = ("id", "group", "outcome", "verdict", "score", "advantage")


def items(count):
    """Mixed items without sandboxes, in groups of four."""
    for n in range(count):
        kind = n // 4 % 3
        if kind == 0:
            task = {"type": "math", "answer": "3/7"}
            completion = f"Attempt {n}: so it is \\boxed{{\\frac{{{n % 5 + 1}}}{{7}}}}."
        elif kind == 1:
            task = {"type": "text", "answer": "blue"}
            completion = ["blue", "Blue", "red"][n % 3] + f" {n}"[: n % 2]
        else:
            schema = {"type": "object", "required": ["n"], "properties": {"n": {}}}
            task = {"type": "structured", "schema": schema}
            completion = json.dumps({"n": n} if n % 2 else {"m": n})
        yield {"id": str(n), "group": str(n // 4), "completion": completion, "task": task}


class Node:
    """The service, in a folder that it keeps over restarts."""

    def __init__(self, binary, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.base = f"http://127.0.0.1:{free.getsockname()[1]}"
        self.command = [binary, "serve", "--listen", self.base.removeprefix("http://")]
        self.folder = folder

    def start(self):
        log = open(self.folder / "serve.log", "a")
        environment = {**os.environ, "NO_COLOR": "1"}
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, stdout=log, stderr=log, env=environment
        )
        while True:
            try:
                self.call("/readyz")
                return
            except OSError:
                if self.process.poll() is not None:
                    sys.exit((self.folder / "serve.log").read_text()[-4000:])
                time.sleep(0.05)

    def call(self, path, body=None):
        request = urllib.request.Request(self.base + path, body)
        if body is not None:
            request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.read()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Batches(threading.Thread):
    """Sends small batches at a steady rate, and notes the time of each from when it was due."""

    def __init__(self, node, rate):
        super().__init__(daemon=True)
        self.node, self.rate = node, rate
        self.times, self.failed = [], 0
        self.stopped = threading.Event()

    def run(self):
        sent = 0
        due = time.monotonic()
        while not self.stopped.wait(max(due - time.monotonic(), 0)):
            task = {"type": "math", "answer": "0.5"}
            item = {"completion": f"{sent}: \\boxed{{1/2}}", "task": task}
            try:
                self.node.call("/v1/grade", json.dumps({"items": [item] * 8}).encode())
                self.times.append(time.monotonic() - due)
            except (OSError, urllib.error.HTTPError):
                # The node is being restarted.
                self.failed += 1
            sent += 1
            due = max(due + 1 / self.rate, time.monotonic() - 1)

    def finish(self):
        self.stopped.set()
        self.join()
        times = sorted(self.times)
        p99 = times[min(len(times) * 99 // 100, len(times) - 1)]
        return (
            f"{len(times)} batches, median {statistics.median(times) * 1e3:.1f} ms, "
            f"p99 {p99 * 1e3:.1f} ms, {self.failed} while the node was down"
        )


def wait(node, job, kill_every):
    """Waits for a job; returns it and the number of kills."""
    kills, next_kill = 0, time.monotonic() + (kill_every or 1e9)
    while True:
        found = json.loads(node.call(f"/v1/jobs/{job}"))
        if found["state"] == "done":
            return found, kills
        if time.monotonic() >= next_kill:
            node.kill()
            node.start()
            kills, next_kill = kills + 1, time.monotonic() + kill_every
        time.sleep(0.1)


def results(lines):
    """What is compared of each result, and its grade. Whole results would need much memory."""
    return [tuple(result[key] for key in (*KEYS, "grade")) for result in map(json.loads, lines)]


def compare(expected, found):
    """The number of lines that differ."""
    differences = sum(one[:-1] != other[:-1] for one, other in zip(expected, found))
    return differences + abs(len(expected) - len(found))


def replay(node, **options):
    """Replays the grades of the job; returns the ended job and its seconds."""
    began = time.monotonic()
    body = json.dumps({"options": options}).encode()
    job = json.loads(node.call("/v1/jobs/replay?run=job", body))
    return wait(node, job["job"], None)[0], time.monotonic() - began


def replays(node, items, alone):
    """Replays the grades as they are and with an option; returns the summary of the second."""
    job, took = replay(node)
    assert job["replay"]["flipped"] == 0 and job["replay"]["items"] == items, job
    print(f"replay: {items / took:.0f} items/s ({alone / took:.2f} of assay grade), no flips")
    job, _ = replay(node, **OPTION)
    assert job["replay"]["flipped"] > 0, job
    return job["replay"]


def replay_command(binary, folder):
    """The summary of the same replay by the command, in another process."""
    ((name, value),) = OPTION.items()
    command = [binary, "replay", "--run", "job", "--json", "--option", f"{name}={value}"]
    run = subprocess.run(
        [*command, "--database", "sqlite://assay.db"], cwd=folder, capture_output=True, text=True
    )
    return json.loads(run.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--kill-every", type=float, default=0)
    parser.add_argument("--batches", type=float, default=20)
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open(folder / "items.jsonl", "w") as file:
            file.writelines(json.dumps(item) + "\n" for item in items(options.items))
        began = time.monotonic()
        grade = [binary, "grade", "items.jsonl", "-o", "expected.jsonl"]
        subprocess.run([*grade, "--database", "sqlite://grade.db"], cwd=folder, check=True)
        alone = time.monotonic() - began
        print(f"assay grade: {options.items / alone:.0f} items/s", flush=True)

        node = Node(binary, folder)
        node.start()
        quiet = Batches(node, options.batches)
        quiet.start()
        time.sleep(5)
        print(f"without a job: {quiet.finish()}", flush=True)
        beside = Batches(node, options.batches)
        beside.start()
        began = time.monotonic()
        with open(folder / "items.jsonl", "rb") as file:
            job = json.loads(node.call("/v1/jobs?run=job", file.read()))
        received = time.monotonic() - began
        job, kills = wait(node, job["job"], options.kill_every)
        took = time.monotonic() - began
        print(f"beside the job: {beside.finish()}")
        print(
            f"job: {options.items / took:.0f} items/s ({alone / took:.2f} of assay grade), "
            f"received in {received:.1f} s, {kills} kills"
        )
        lines = node.call(f"/v1/jobs/{job['job']}/results").splitlines()
        page = json.loads(lines.pop())
        assert page == {"type": "page", "next": None, "state": "done"}, page
        found = results(lines)
        del lines
        with open(folder / "expected.jsonl") as file:
            expected = results(file)
        differences = compare(expected, found)
        summary = replays(node, options.items, alone)
        recorded = json.loads(node.call("/v1/runs/job"))["grades"]
        grades = len({result[-1] for result in found})
        print(f"{differences} results differ, {recorded} grades recorded, {grades} distinct")
        node.stop()
        same = summary == replay_command(binary, folder)
        compared = "equals" if same else "differs from"
        print(f"the replay {compared} that of `assay replay`: {json.dumps(summary)}")
        lacks_kills = options.kill_every and not kills
        complete = recorded == grades == options.items
        if not same or differences or lacks_kills or not complete:
            sys.exit(1)


main()
