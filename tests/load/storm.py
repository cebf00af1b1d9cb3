#!/usr/bin/env python3
"""Sends sixty-four batches of 1,024 items and opens 4,000 connections with one item each, all at
once, three times.

usage: storm.py PATH/TO/assay [ROUNDS]

Prints the number of requests by outcome, and the server's memory (RSS) after each round.
"""

import asyncio
import collections
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

BATCHES, BATCH_ITEMS, SINGLES = 64, 1024, 4000


def item(name, number):
    reasoning = (
        f"Rollout {name}-{number}. "
        + "We add the two parts and simplify, checking each step twice. " * 20
    )
    return {
        "id": f"{name}-{number}",
        "completion": reasoning + f"\\boxed{{{number % 5}/6}}",
        "task": {"type": "math", "answer": "1/3"},
    }


def request(items):
    body = json.dumps({"run": "storm", "items": items}).encode()
    head = f"POST /v1/grade HTTP/1.1\r\nhost: storm\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return head.encode() + body


async def send(port, message, wanted, outcomes, latencies):
    began = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(message)
        await writer.drain()
        reply = await reader.read(-1)
        writer.close()
        status = reply.split(b" ", 2)[1].decode() if reply else "closed"
        recorded = reply.count(b'"recorded":true')
        outcomes[status if recorded == wanted or status != "200" else "incomplete"] += 1
        latencies.append(time.perf_counter() - began)
    except OSError as error:
        outcomes[type(error).__name__] += 1


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmRSS"].split()[0]) // 1024, int(lines["VmHWM"].split()[0]) // 1024


async def storm(port, pid, rounds):
    for round_number in range(rounds):
        outcomes, batch_latencies, single_latencies = collections.Counter(), [], []
        batches = [
            request([item(f"{round_number}-b{b}", n) for n in range(BATCH_ITEMS)])
            for b in range(BATCHES)
        ]
        singles = [request([item(f"{round_number}-s{s}", s)]) for s in range(SINGLES)]
        calls = [send(port, message, BATCH_ITEMS, outcomes, batch_latencies) for message in batches]
        calls += [send(port, message, 1, outcomes, single_latencies) for message in singles]
        began = time.perf_counter()
        await asyncio.gather(*calls)
        took = time.perf_counter() - began
        now, most = memory(pid)
        single_latencies.sort()
        p99 = (
            single_latencies[len(single_latencies) * 99 // 100]
            if single_latencies
            else float("nan")
        )
        print(
            f"round {round_number + 1}: {dict(outcomes)} in {took:.1f} s, single item p99 {p99:.2f} s, memory {now} MiB (peak {most} MiB)"
        )


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 16384), hard), hard))
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [
                os.path.abspath(sys.argv[1]),
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--database",
                "sqlite://storm.db",
            ],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            port = next(
                int(found.group(1))
                for line in server.stderr
                if (found := re.search(r"127\.0\.0\.1:(\d+)", line))
            )
            asyncio.run(storm(port, server.pid, rounds))
        finally:
            server.terminate()
            server.wait()


main()
