#!/usr/bin/env python3
"""Measures retention on a large record: backs it up, restores the backup, and prunes it to one run,
all while batches are graded.

usage: retention.py PATH/TO/assay DATABASE [--rate N] [--limit MS] [--skip-backup]

DATABASE is a file created by `assay-measure fill`; it is changed. Clients send batches of 64
short text items at a fixed rate, so that a delayed reply does not slow down the next request;
the delay of a reply counts from the time when its request was due. Prints p50, p99 and maximum
of the delays in each phase, the times of lists, and sizes. Checks that every batch that was
acknowledged before the backup began is in the restored backup, with its task and completion,
and that the backup and the pruned record are sound. Exits with 1 if a p99 of replies or a p95 of
lists is above the limit, or something is lost.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from urllib.parse import urlencode

ITEMS = 64
LIVE = "live"


class Server:
    def __init__(self, binary, database):
        self.process = subprocess.Popen(
            [
                binary,
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--database",
                f"sqlite://{os.path.abspath(database)}",
                "--print-url",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "ASSAY_LOG_FILTER": "warn"},
        )
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit("the server did not start")
        self.port = int(self.url.rsplit(":", 1)[1])
        self.local = threading.local()
        while self.request("GET", "/readyz")[0] != 200:
            time.sleep(0.1)

    def request(self, method, path, body=None):
        # The server closes connections that are idle for longer.
        if time.monotonic() - getattr(self.local, "used", 0.0) > 30:
            self.local.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"content-type": "application/json"} if body is not None else {}
        self.local.connection.request(
            method, path, None if body is None else json.dumps(body), headers
        )
        reply = self.local.connection.getresponse()
        content = reply.read()
        self.local.used = time.monotonic()
        return reply.status, content

    def get(self, path):
        status, body = self.request("GET", path)
        if status != 200:
            raise SystemExit(f"{path} returned {status}: {body[:300]!r}")
        return json.loads(body)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Load:
    """Sends batches at a fixed rate until it is stopped."""

    def __init__(self, server, rate):
        self.server, self.rate = server, rate
        self.delays, self.batches, self.failed = [], [], []
        self.lock, self.stopped = threading.Lock(), threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(16)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        began, sent = time.monotonic(), 0
        while not self.stopped.is_set():
            due = began + sent / self.rate
            time.sleep(max(0.0, due - time.monotonic()))
            self.pool.submit(self.send, sent, due)
            sent += 1

    def send(self, number, due):
        items = [
            {
                "id": f"{number}-{item}",
                "prompt": f"prompt {number // 4} {item}",
                "completion": f"the answer of {number} to {item} is {item % 7}",
                "task": {"type": "text", "answer": f"{item % 5}"},
            }
            for item in range(ITEMS)
        ]
        try:
            status, body = self.server.request(
                "POST", "/v1/grade", {"items": items, "run": LIVE, "step": number // 16}
            )
            took = (time.monotonic() - due) * 1e3
            reply = json.loads(body)
            recorded = status == 200 and all(one["recorded"] for one in reply["results"])
        except Exception as error:
            status, recorded, took, reply = str(error), False, 0.0, {}
        with self.lock:
            if recorded:
                self.delays.append(took)
                self.batches.append(reply["batch"])
            else:
                self.failed.append(f"{status}: {str(reply)[:200]}")

    def acknowledged(self):
        with self.lock:
            return list(self.batches)

    def phase(self):
        """The delays since the last call, sorted."""
        with self.lock:
            delays, self.delays = sorted(self.delays), []
        return delays

    def stop(self):
        self.stopped.set()
        self.thread.join()
        self.pool.shutdown()
        if self.failed:
            raise SystemExit(f"{len(self.failed)} batches failed: {self.failed[0]}")


def at(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]


def lists(server, runs, stopped, times):
    draw = random.Random(2)
    while not stopped.is_set():
        run = draw.choice(runs)
        for query in [{}, {"run": run}, {"run": run, "verdict": "correct"}, {"grader": "text"}]:
            began = time.monotonic()
            server.get("/v1/grades?" + urlencode(query))
            times.append((time.monotonic() - began) * 1e3)
        began = time.monotonic()
        server.get("/v1/storage")
        times.append((time.monotonic() - began) * 1e3)
        stopped.wait(0.25)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("database")
    parser.add_argument("--rate", type=float, default=10.0, help="batches a second")
    parser.add_argument("--limit", type=float, default=100.0, help="maximum in milliseconds")
    parser.add_argument("--skip-backup", action="store_true")
    arguments = parser.parse_args()
    binary, database = os.path.abspath(arguments.binary), arguments.database
    failures = []

    server = Server(binary, database)
    runs = sorted(server.get("/v1/runs")["runs"], key=lambda run: run["grades"])
    names, kept = [run["run"] for run in runs], runs[len(runs) // 2]
    before = server.get("/v1/storage")
    print(f"grades {before['grades']:,}, runs {len(runs)}, file {before['file_bytes']:,} bytes")
    print(f"kept run: {kept['run']}, {kept['grades']:,} grades", flush=True)

    def during(name, work):
        """Runs `work` while lists are read; reports the delays of replies and lists."""
        load.phase()
        times, stopped = [], threading.Event()
        listing = threading.Thread(target=lists, args=(server, names, stopped, times))
        listing.start()
        began = time.monotonic()
        result = work()
        took = time.monotonic() - began
        stopped.set()
        listing.join()
        delays, times = load.phase(), sorted(times)
        print(
            f"{name}: {took:.0f} s; {len(delays)} replies: p50 {at(delays, 0.5):.1f}, "
            f"p99 {at(delays, 0.99):.1f}, max {delays[-1]:.1f} ms, "
            f"{sum(delay > arguments.limit for delay in delays)} above {arguments.limit:.0f} ms; "
            f"{len(times)} lists: "
            f"p50 {at(times, 0.5):.1f}, p95 {at(times, 0.95):.1f}, max {times[-1]:.1f} ms",
            flush=True,
        )
        if at(delays, 0.99) > arguments.limit:
            failures.append(f"{name}: p99 of replies")
        if at(times, 0.95) > arguments.limit:
            failures.append(f"{name}: p95 of lists")
        return result

    def run(*command):
        done = subprocess.run([binary, *command], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    load = Load(server, arguments.rate)
    url = f"sqlite://{os.path.abspath(database)}"
    try:
        time.sleep(3)
        during("without retention", lambda: time.sleep(20))
        if not arguments.skip_backup:
            copy = os.path.abspath(database) + ".backup"
            shutil.rmtree(copy, ignore_errors=True)
            acknowledged = load.acknowledged()
            backup = during(
                "backup", lambda: run("backup", copy, "--database", url, "--json")
            )
            print(f"backup: {backup['database_bytes']:,} bytes, {backup['grades']:,} grades")
            restored = Server(binary, backup["database"])
            lost = 0
            for batch in acknowledged:
                rows = restored.get(f"/v1/grades?batch={batch}&limit=100")["grades"]
                detail = restored.get(f"/v1/grades/{rows[0]['grade']}") if rows else {}
                lost += len(rows) != ITEMS or detail.get("bodies") != "stored"
            restored.stop()
            print(f"restored: {len(acknowledged)} batches acknowledged before, {lost} lost")
            if lost:
                failures.append("backup: batches were lost")
            restored = f"sqlite://{backup['database']}"
            sound = during(
                "verify the backup", lambda: run("verify", "--database", restored, "--json")
            )
            print(f"verified: {sound['grades']:,} grades, {sound['bodies']:,} bodies")
            shutil.rmtree(copy)
        keep = ["--keep-run", kept["run"], "--keep-run", LIVE]
        pruned = during(
            "prune", lambda: run("prune", "--server", server.url, *keep, "--json")
        )["prune"]
        print(
            f"prune: {pruned['deleted_grades']:,} grades, {pruned['deleted_runs']} runs, "
            f"{pruned['deleted_body_bytes']:,} bytes of bodies"
        )
        during("after the prune", lambda: time.sleep(10))
    finally:
        load.stop()
    expected = kept["grades"] + len(load.acknowledged()) * ITEMS
    until = time.monotonic() + 10
    after = server.get("/v1/storage")
    # The last batches may not be in the database yet.
    while after["grades"] < expected and time.monotonic() < until:
        time.sleep(0.1)
        after = server.get("/v1/storage")
    print(
        f"file {before['file_bytes']:,} -> {after['file_bytes']:,} bytes, free "
        f"{after['free_bytes']:,}, log {after['log_bytes']:,}; grades {after['grades']:,}"
    )
    if after["grades"] != expected:
        failures.append(f"{after['grades']} grades are left instead of {expected}")
    server.stop()
    verified = run("verify", "--database", url, "--json")
    print(f"verified: {verified['grades']:,} grades, {verified['bodies']:,} bodies")
    if failures:
        sys.exit("; ".join(failures))


if __name__ == "__main__":
    main()
