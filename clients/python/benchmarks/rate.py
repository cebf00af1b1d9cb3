#!/usr/bin/env python3
"""Measures the client: its rate against raw HTTP, and many concurrent awaits.

usage: rate.py [URL] [--awaits N]

Without a URL, a private node is started.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import threading
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx

import assay

SIZE = 1024
ROUNDS = 5


def items(count: int, salt: str) -> list[dict[str, Any]]:
    """Mixed answers in groups of eight; the salt keeps them out of the result cache."""
    return [
        {
            "id": f"{salt}-{number}",
            "group": f"{salt}-{number // 8}",
            "completion": f"We add the numbers of run {salt}, so it is \\boxed{{{number % 9}}}.",
            "task": {"type": "math", "answer": str(number % 7)},
        }
        for number in range(count)
    ]


def best(call: Callable[[list[dict[str, Any]]], Any]) -> float:
    """Seconds of the fastest of several batches."""
    times = []
    for _ in range(ROUNDS):
        batch = items(SIZE, uuid.uuid4().hex[:8])
        began = time.perf_counter()
        call(batch)
        times.append(time.perf_counter() - began)
    return min(times)


def raw(client: httpx.Client, url: str, body: dict[str, Any], batch: list[Any]) -> list[Any]:
    """What a user would write without the client."""
    reply = client.post(f"{url}/v1/grade", json={"items": batch, **body}, timeout=600)
    reply.raise_for_status()
    return [result["reward"] for result in reply.json()["results"]]


def graded(client: assay.Client, fields: tuple[str, ...] | None, batch: list[Any]) -> list[float]:
    """The same with the client."""
    return client.grade(batch, fields=fields).rewards()


def batches(url: str) -> None:
    print(f"{SIZE} items a batch, the fastest of {ROUNDS}:")
    with assay.Client(url) as client, httpx.Client() as plain:
        for name, fields in [("all fields", None), ("reward, verdict", ("reward", "verdict"))]:
            body = {} if fields is None else {"fields": fields}
            direct = best(partial(raw, plain, url, body))
            through = best(partial(graded, client, fields))
            print(
                f"  {name}: client {SIZE / through:,.0f} items a second, raw HTTP "
                f"{SIZE / direct:,.0f}: {direct / through:.2f}"
            )


class Peak(threading.Thread):
    """Most sockets that are open at the same time."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.sockets = 0
        self.running = True

    def run(self) -> None:
        while self.running:
            count = 0
            for name in os.listdir("/proc/self/fd"):
                try:
                    count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
                except OSError:
                    continue
            self.sockets = max(self.sockets, count)
            time.sleep(0.01)


def memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def awaits(url: str, count: int, join: bool) -> None:
    batch = [{**item, "group": None} for item in items(count, uuid.uuid4().hex[:8])]
    before = memory_mib()
    peak = Peak()
    peak.start()
    async with assay.AsyncClient(url, join=join) as client:
        began = time.perf_counter()
        every = await asyncio.gather(*(client.grade([item]) for item in batch))
        seconds = time.perf_counter() - began
    peak.running = False
    right = sum(results.rewards()[0] == 1.0 for results in every)
    expected = sum(number % 9 == number % 7 for number in range(count))
    assert right == expected, (right, expected)
    requests = len({name for results in every for name in results.batches})
    print(
        f"{count} concurrent awaits of one item{'' if join else ', each a request'}: "
        f"{seconds:.2f} s, {count / seconds:,.0f} a second in {requests} requests, at most "
        f"{peak.sockets} sockets, {memory_mib() - before:.0f} MiB more memory"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--awaits", type=int, default=16000)
    arguments = parser.parse_args()
    if arguments.url:
        measure(arguments.url, arguments.awaits)
        return
    with assay.serve() as server:
        measure(server.url, arguments.awaits)


def measure(url: str, count: int) -> None:
    batches(url)
    asyncio.run(awaits(url, count, True))
    asyncio.run(awaits(url, count // 8, False))


if __name__ == "__main__":
    main()
