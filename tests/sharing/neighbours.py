#!/usr/bin/env python3
"""Measures what a caller notices of a hostile one: latencies, errors and refusals of its requests
during each attack, and the memory of the service.

usage: neighbours.py PATH/TO/assay [--attack NAME …] [--seconds N]

Both callers have a key without quotas, and the node has its default limits. Each attack gets a node
of its own. Exits with 1 if a request of the other caller fails, is refused, has a wrong verdict or
is slower than allowed.
"""

import argparse
import collections
import http.client
import json
import math
import multiprocessing
import os
import sys
import threading
import time

sys.dont_write_bytecode = True

import attacks  # noqa: E402, modules beside this one
from node import end_on_signal, started  # noqa: E402

# Requests per second of each kind: far below a fair share of one core, so that none has to wait for
# others of its caller.
RATES = {"math": 5, "program": 1, "query": 1}
# Seconds at p99. An item of mathematics takes a millisecond and shares threads that nobody can hold
# for long. Programs and queries take turns in sandbox workers, of which a node has one per core,
# and another caller's program may keep one until it can be suspended.
LIMITS = {"math": 1.0, "program": 5.0, "query": 5.0}
REQUEST_SECONDS = 60
# The other caller is measured for longer than an attack, because some leave work behind, or data
# that is read again every few seconds.
AFTER_SECONDS = 12
READY_SECONDS = 120
# Below the priority of the service, so that the attacker's own work does not delay it.
NICENESS = 10
NO_ATTACK = "none"


def item(kind, number):
    """An item that no other one equals, and its verdict. Every second one is wrong."""
    right = number % 2 == 0
    shown = number if right else number + 1
    if kind == "math":
        task = {"type": "math", "answer": f"{number}/6"}
        completion = f"\\boxed{{\\frac{{{2 * shown}}}{{12}}}}"
        return completion, task, "correct" if right else "wrong_answer"
    if kind == "program":
        tests = [{"stdin": f"{n}\n", "stdout": f"{n * number}"} for n in (1, 2)]
        task = {"type": "code", "language": "python", "tests": tests}
        completion = f"```python\nprint(int(input()) * {shown})\n```"
        return completion, task, "accepted" if right else "wrong_answer"
    database = {
        "schema": "create table t(a integer, b text)",
        "rows": "insert into t values (1, 'x'), (2, 'y'), (3, 'z')",
    }
    gold = f"select b, a + {number} from t where a > 1"
    task = {"type": "sql", "dialect": "sqlite", "gold": gold, "database": database}
    completion = f"```sql\nselect b, {shown} + a from t where a >= 2\n```"
    return completion, task, "correct" if right else "wrong_answer"


class Neighbour:
    """Sends items at a steady rate, one thread for each kind, and keeps what went wrong."""

    def __init__(self, node, key):
        self.node, self.key = node, key
        self.latencies = {kind: [] for kind in RATES}
        self.refused, self.errors = 0, collections.Counter()

    def ask(self, kind, number):
        completion, task, expected = item(kind, number)
        body = {"items": [{"completion": completion, "task": task}]}
        began = time.monotonic()
        try:
            status, reply = self.node.request(
                "POST", "/v1/grade", body, self.key, timeout=REQUEST_SECONDS
            )
        except (OSError, http.client.HTTPException) as error:
            self.errors[f"{kind}: {error!r}"] += 1
            return time.monotonic() - began
        took = time.monotonic() - began
        if status == 429:
            self.refused += 1
        if status != 200:
            self.errors[f"{kind}: status {status}, {reply[:200].decode(errors='replace')}"] += 1
            return took
        result = json.loads(reply)["results"][0]
        if result.get("verdict") != expected:
            got = result.get("verdict") or result.get("error")
            self.errors[f"{kind}: {got}, expected {expected}"] += 1
        return took

    def keep_asking(self, kind, until):
        """The next request waits for the reply, and is sent at once if it was due earlier."""
        due, number = time.monotonic(), 0
        while due < until:
            number += 1
            self.latencies[kind].append(self.ask(kind, number))
            due = max(due + 1 / RATES[kind], time.monotonic() - 1 / RATES[kind])
            time.sleep(max(0, due - time.monotonic()))

    def measure(self, seconds):
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self.keep_asking, args=(kind, until)) for kind in RATES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def problems(self):
        for what, count in self.errors.items():
            yield f"{count} x {what}"
        for kind, took in self.latencies.items():
            if percentile(took, 99) > LIMITS[kind]:
                yield f"{kind}: p99 {percentile(took, 99):.2f} s, above {LIMITS[kind]:.0f} s"


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def attacked(node, key, name, seconds, measure):
    """Measures during an attack and after it; returns the numbers of the attacker's requests."""
    context = multiprocessing.get_context("spawn")
    counts, ready = context.Array("q", 3), context.Event()
    arguments = (name, node.port, key, None, counts, ready)
    attacker = context.Process(target=attack, args=arguments, daemon=True)
    attacker.start()
    end = threading.Timer(seconds, attacker.kill)
    try:
        if not ready.wait(READY_SECONDS):
            raise SystemExit(f"the attack {name} did not begin")
        end.start()
        measure(seconds + AFTER_SECONDS)
    finally:
        end.cancel()
        attacker.kill()
        attacker.join()
    return list(counts)


def attack(*arguments):
    os.nice(NICENESS)
    attacks.run(*arguments)


def row(name, counts, neighbour, memory):
    cells = [f"{name:17}", *(f"{count:8}" for count in counts)]
    for took in neighbour.latencies.values():
        cells.append(
            "{:7.0f} {:6.0f} {:6.0f}".format(
                *(1000 * value for value in (percentile(took, 50), percentile(took, 99), max(took)))
            )
        )
    cells += [f"{sum(neighbour.errors.values()):6}", f"{neighbour.refused:5}", f"{memory:7.0f}"]
    print(" ".join(cells), flush=True)


def measured(binary, name, seconds):
    """Problems during an attack."""
    roles = {"attacker": "trainer", "other": "trainer"}
    with started(binary, roles) as (node, keys):
        neighbour = Neighbour(node, keys["other"])
        for kind in RATES:
            # Starts workers, and compiles what the first item of each kind needs.
            neighbour.ask(kind, 0)
        counts = [0, 0, 0]
        if name == NO_ATTACK:
            neighbour.measure(seconds)
        else:
            counts = attacked(node, keys["attacker"], name, seconds, neighbour.measure)
        alive = node.alive()
        row(name, counts, neighbour, node.memory("VmHWM") if alive else math.nan)
        problems = list(neighbour.problems())
        if not alive:
            problems.append(f"the node ended: {node.why_ended()}")
        if name != NO_ATTACK and sum(counts) == 0:
            problems.append("the attacker sent nothing")
        return problems


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument(
        "--attack",
        action="append",
        choices=attacks.BY_NAME,
        metavar="NAME",
        help=f"one of {', '.join(attacks.BY_NAME)}; may be repeated (default: all)",
    )
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    end_on_signal()
    print(
        f"{'':17} {'attacker: requests':^26} {'math, ms':^21} {'program, ms':^21} {'query, ms':^21} "
        f"{'other:':>6} {'':5} {'peak':>7}\n"
        f"{'attack':17} {'accepted':>8} {'rejected':>8} {'open':>8} "
        + " ".join([f"{'p50':>7} {'p99':>6} {'max':>6}"] * 3)
        + f" {'errors':>6} {'429':>5} {'MiB':>7}"
    )
    failed = []
    for name in [NO_ATTACK, *(options.attack or attacks.BY_NAME)]:
        problems = measured(options.binary, name, options.seconds)
        for problem in problems:
            print(f"  FAIL {name}: {problem}", flush=True)
        failed += [name] if problems else []
    print(
        f"\n{len(failed)} attacks are noticed: {', '.join(failed)}" if failed else "\nnone noticed"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
