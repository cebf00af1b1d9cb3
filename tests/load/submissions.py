#!/usr/bin/env python3
"""Measures throughput, batch latency and memory for ten thousand programs with twenty tests each,
sent over HTTP and recorded.

usage: submissions.py PATH/TO/assay [SUBMISSIONS]

All programs are different, so that no result is cached. One in ten fails one of its tests. The
tasks disable `stop_at_first_failure`, so that every test of every program runs.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time

BATCH, IN_FLIGHT, TESTS = 100, 4, 20


def item(number):
    wrong = number % 10 == 0
    program = (
        "def f(x):\n"
        f"    total = {number}\n"
        "    for i in range(x):\n"
        "        total += i * i\n"
        f"    return total{' + (x == 7)' if wrong else ''}\n\n\n"
        "print(f(int(input())))\n"
    )
    tests = [
        {"stdin": f"{x}\n", "stdout": f"{number + sum(i * i for i in range(x))}\n"}
        for x in range(TESTS)
    ]
    task = {"type": "code", "language": "python", "tests": tests, "stop_at_first_failure": False}
    return {
        "id": str(number),
        "completion": f"```python\n{program}```\n",
        "task": task,
    }, "wrong_answer" if wrong else "accepted"


async def post(port, items):
    body = json.dumps({"run": "submissions", "items": [item for item, _ in items]}).encode()
    head = f"POST /v1/grade HTTP/1.1\r\nhost: load\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + body)
    await writer.drain()
    reply = await reader.read(-1)
    writer.close()
    head, _, body = reply.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"rejected: {head[:200]!r}")
    if b"chunked" in head.lower():
        body = b"".join(body.split(b"\r\n")[1::2])
    results = json.loads(body)["results"]
    return sum(result["verdict"] != wanted for result, (_, wanted) in zip(results, items))


def children(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as ids:
            yield from map(int, ids.read().split())


def mebibytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        lines = dict(line.split(":", 1) for line in rollup if ":" in line.split(" ")[0])
    return int(lines["Pss"].split()[0]) / 1024


async def load(port, pid, count):
    batches = [
        [item(number) for number in range(at, min(at + BATCH, count))]
        for at in range(0, count, BATCH)
    ]
    latencies, errors, queue = [], 0, list(enumerate(batches))
    began = time.perf_counter()

    async def lane():
        nonlocal errors
        while queue:
            number, batch = queue.pop(0)
            asked = time.perf_counter()
            errors += await post(port, batch)
            latencies.append(time.perf_counter() - asked)
            if number % (len(batches) // 4 or 1) == 0:
                workers = ", ".join(f"{mebibytes(worker):.0f}" for worker in children(pid))
                print(
                    f"  batch {number}: service {mebibytes(pid):.0f} MiB, workers {workers} MiB (PSS)"
                )

    await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))
    took = time.perf_counter() - began
    latencies.sort()
    at = lambda share: latencies[len(latencies) * share // 100]
    print(
        f"{count} programs, {count * TESTS} runs in {took:.1f} s: {count / took:.0f} programs/s, {count * TESTS / took:.0f} runs/s; "
        f"batch of {BATCH} p50 {at(50):.2f} s, p99 {at(99):.2f} s; {errors} wrong verdicts"
    )
    return errors


def main():
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        command = [
            binary,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database",
            f"sqlite://{folder}/load.db",
        ]
        service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            line = next(line for line in service.stderr if "listening" in line)
            port = int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1))
            sys.exit(1 if asyncio.run(load(port, service.pid, count)) else 0)
        finally:
            service.terminate()
            service.wait()


if __name__ == "__main__":
    main()
