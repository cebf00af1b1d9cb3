#!/usr/bin/env python3
"""Times calls of interpreter sessions over HTTP, one after another by one client, for states of
several sizes.

usage: session_calls.py PATH/TO/assay [--rounds N]

The example `sessions` of `assay-wasm` times the same without the service, in one worker.
"""

import argparse
import http.client
import itertools
import json
import statistics
import tempfile
import time

from sessions import Node

STATES = [
    ("10 MB of integers", "x = list(range(300_000))"),
    ("10 MB of strings", "x = [f'item {i}' for i in range(130_000)]"),
    ("10 MB of random bytes", "import os\nx = os.urandom(10_000_000)"),
]


class Client:
    """One connection to the service."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def post(self, path, body):
        headers = {"content-type": "application/json"}
        self.connection.request("POST", path, json.dumps(body), headers)
        response = self.connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {body.decode()}")
        return json.loads(body)

    def open(self, code="pass"):
        session = self.post("/v1/sessions", {"language": "python"})["id"]
        self.run(session, code)
        return session

    def run(self, session, code="print(1)"):
        reply = self.post(f"/v1/sessions/{session}/run", {"code": code})
        if reply["outcome"] != "ok":
            raise SystemExit(f"{code}: {reply}")

    def fork(self, session):
        self.post(f"/v1/sessions/{session}/fork", {})


def measure(name, rounds, call):
    """Prints the times of calls, after a few that are not measured."""
    times = []
    for at in range(rounds + 5):
        began = time.perf_counter()
        call()
        if at >= 5:
            times.append((time.perf_counter() - began) * 1e3)
    times.sort()
    p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
    print(f"{name:42} p50 {statistics.median(times):6.2f} ms   p99 {p99:6.2f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Times calls of sessions.")
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        node = Node(options.binary, folder, 256)
        node.start()
        try:
            client = Client(node.port)
            session = client.open()
            measure("print(1)", options.rounds, lambda: client.run(session))
            measure("fork", options.rounds, lambda: client.fork(session))
            measure("open and first call", options.rounds, lambda: client.open("print(1)"))
            for name, code in STATES:
                turns = itertools.cycle([client.open(code) for _ in range(4)])
                rounds = options.rounds // 4
                measure(f"print(1), {name}", rounds, lambda: client.run(next(turns)))
        finally:
            node.stop()


if __name__ == "__main__":
    main()
