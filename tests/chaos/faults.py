"""Injects faults while clients send: each kind has its own thread, with pauses drawn from the
seed.
"""

import contextlib
import collections
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

from node import STOP_DEADLINE, Refused, is_busy, signal_worker, state_of

# Starting may fail during another fault, and is retried as a service manager would.
PASSING_REFUSALS = (
    "disk is full",
    "No space left",
    "os error 28",
    "locked",
    "SQLITE_BUSY",
    "SQLITE_FULL",
    "disk I/O error",
)
# A task whose database crashes every worker that tries to build it is `ungradable`, so a request
# may meet these faults only once. Other faults never decide an outcome.
ONCE = {"crash"}
KINDS = [
    "SIGKILL of busy workers",
    "SIGKILL of idle workers",
    "SIGSEGV of workers",
    "several workers at once",
    "SIGSTOP of workers",
    "full disks",
    "locked databases",
    "SIGTERM of the node",
    "kill -9 of the node",
    "idle connections",
    "half requests",
    "half bodies",
    "unread replies",
]


class Faults:
    """All faults of a run."""

    def __init__(self, node, disk, load, items, seed, seconds, most_connections):
        self.node, self.disk, self.load, self.seed, self.seconds = node, disk, load, seed, seconds
        self.most_connections = most_connections
        # Graded without a worker, so that unread replies do not occupy workers.
        self.cheap = [
            item
            for item in items.values()
            if item.family == "math" and "checks" not in item.body("", "")
        ]
        self.counts, self.struck = collections.Counter(), collections.Counter()
        self.problems, self.stops = [], []
        self.over, self.began = threading.Event(), time.monotonic()
        self.stopped, self.last_once = {}, 0.0
        self.threads = []

    def run(self):
        """Injects faults for the time of the run, then reverts them."""
        self.began = time.monotonic()
        strikers = [self.workers, self.connections, self.locks, self.restarts] + (
            [self.disks] if self.disk else []
        )
        self.threads = [
            threading.Thread(target=self.guarded, args=(striker,), daemon=True)
            for striker in strikers
        ]
        for thread in self.threads:
            thread.start()
        until = self.began + self.seconds
        while (
            not self.over.wait(min(60, max(0, until - time.monotonic())))
            and time.monotonic() < until
        ):
            told, struck = self.load.ledger.counts["results"], sum(self.counts.values())
            print(
                f"       {(time.monotonic() - self.began) / 60:.0f} min: {told} results, {struck} faults",
                flush=True,
            )
        self.over.set()
        for thread in self.threads:
            thread.join(STOP_DEADLINE + 90)
            if thread.is_alive():
                self.problems.append("a thread of faults did not end in time")
        for pid in self.stopped:
            signal_worker(pid, signal.SIGCONT)

    def guarded(self, striker):
        try:
            striker(random.Random(f"{self.seed} {striker.__name__}"))
        except (
            Exception
        ) as error:  # Any error: the run must not pass if a kind of fault has stopped.
            self.problems.append(f"`{striker.__name__}` ended: {type(error).__name__}: {error}")
            self.over.set()

    def pause(self, rng, least, most):
        """Waits; returns whether the run continues."""
        return not self.over.wait(rng.uniform(least, most))

    def workers(self, rng):
        """Kills, crashes and stops workers."""
        while self.pause(rng, 0.2, 1.2):
            self.resume()
            # Under load workers are hardly ever idle.
            if rng.random() < 0.15:
                with self.load.at_rest(3):
                    self.strike_some(rng, idle=True)
            else:
                self.strike_some(rng, idle=rng.random() < 0.3)

    def strike_some(self, rng, idle):
        """Strikes one or more workers, idle or busy as wanted if there are any."""
        workers = self.node.workers() if self.node.running.is_set() else []
        busy = {pid for pid in workers if is_busy(pid)}
        wanted = sorted(set(workers) - busy if idle else busy) or workers
        victims = rng.sample(wanted, min(rng.choice([1, 1, 2, 2, len(workers)]), len(wanted)))
        strike = rng.choice(["kill", "kill", "crash", "stop"])
        since = self.load.since()
        if strike in ONCE and since is not None and since <= self.last_once:
            strike = rng.choice([other for other in ("kill", "stop") if other not in ONCE])
        if strike in ONCE:
            self.last_once = time.monotonic()
            # A request may move from one victim to the next.
            victims = victims if since is None else victims[:1]
        struck = sum(self.strike(rng, pid, strike, pid in busy) for pid in victims)
        if struck > 1:
            self.counts["several workers at once"] += 1

    def strike(self, rng, pid, strike, busy):
        """Strikes one worker; returns whether it was still there."""
        if strike == "crash":
            # The engine may handle the first signal as a trap of the guest, and then restores the
            # default action.
            tries = 0
            while tries < 20 and signal_worker(pid, signal.SIGSEGV):
                tries += 1
                time.sleep(0.005)
            self.counts["SIGSEGV of workers"] += tries > 0
            return tries > 0
        if not signal_worker(pid, signal.SIGSTOP if strike == "stop" else signal.SIGKILL):
            return False
        if strike == "stop":
            self.counts["SIGSTOP of workers"] += 1
            self.stopped[pid] = time.monotonic() + rng.uniform(0.2, 4)
        else:
            self.counts[f"SIGKILL of {'busy' if busy else 'idle'} workers"] += 1
        return True

    def resume(self):
        """Continues workers whose pause is over."""
        for pid, until in list(self.stopped.items()):
            if time.monotonic() > until:
                signal_worker(pid, signal.SIGCONT)
                del self.stopped[pid]

    def disks(self, rng):
        """Fills the disk of the record, keeps it full, and frees it."""
        while self.pause(rng, 5, 14):
            until = time.monotonic() + rng.uniform(1.5, 4)
            try:
                while True:
                    self.disk.fill()
                    if time.monotonic() > until or self.over.wait(0.1):
                        break
            finally:
                self.disk.free()
            self.counts["full disks"] += 1

    def locks(self, rng):
        """Locks the database from another process."""
        locker = pathlib.Path(__file__).with_name("locker.py")
        while self.pause(rng, 4, 16):
            command = [
                sys.executable,
                str(locker),
                str(self.node.database),
                str(rng.uniform(1.5, 5)),
            ]
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            ) as process:
                # A full disk or a busy writer can prevent the lock.
                if process.stdout.readline().strip() == "locked":
                    self.counts["locked databases"] += 1

    def restarts(self, rng):
        """Stops and restarts the node. One process runs for the last two fifths, to show leaks."""
        least, most = (4, 10) if self.seconds < 600 else (10, 60)
        kinds = []
        while self.wait_for_process(rng.uniform(least, most)):
            both = self.counts["kill -9 of the node"] and self.counts["SIGTERM of the node"]
            if both and time.monotonic() > self.began + 0.6 * self.seconds:
                break
            kinds = kinds or rng.sample(["term", "kill"], 2)
            if kinds.pop() == "term":
                status, seconds = self.node.terminate()
                self.counts["SIGTERM of the node"] += 1
                self.stops.append((status, seconds))
            else:
                self.check_workers_end(self.node.kill())
                self.counts["kill -9 of the node"] += 1
            self.start()
        while self.wait_for_process(1):
            pass

    def wait_for_process(self, seconds):
        """Waits, and restarts the node if it exits; returns whether the run continues."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.over.wait(0.1):
                return False
            status = self.node.process.poll()
            if status is not None:
                self.node.running.clear()
                self.problems.append(f"the node exited with {status}: {self.node.said()[-600:]}")
                self.start()
        return True

    def start(self):
        """Starts the node; retries while the disk is full or the database locked."""
        for _ in range(100):
            try:
                return self.node.start()
            except Refused as refused:
                if not any(reason in str(refused) for reason in PASSING_REFUSALS):
                    raise
                self.struck["starts refused (full disk, locked database)"] += 1
                time.sleep(0.2)
        raise RuntimeError("the node did not start within 100 tries")

    def check_workers_end(self, workers):
        """Reports workers that outlive a killed node."""
        for pid in workers:
            signal_worker(pid, signal.SIGCONT)
        until, left = time.monotonic() + 5, workers
        while left and time.monotonic() < until:
            time.sleep(0.05)
            left = [pid for pid in left if state_of(pid) not in (None, "Z")]
        if left:
            self.problems.append(f"{len(left)} workers outlived the killed node")
            for pid in left:
                signal_worker(pid, signal.SIGKILL)

    def connections(self, rng):
        """Opens connections that send nothing, half a request, half a body, or do not read their
        reply, and drops them later.
        """
        held = []
        try:
            while self.pause(rng, 0.5, 3):
                now = time.monotonic()
                for end, opened in [pair for pair in held if pair[0] < now]:
                    opened.close()
                held = [pair for pair in held if pair[0] >= now]
                kinds = ["idle connections", "half requests", "half bodies", "unread replies"]
                for _ in range(min(rng.randrange(10, 150), self.most_connections - len(held))):
                    kind = rng.choices(kinds, [4, 3, 3, 1])[0]
                    with contextlib.suppress(OSError):
                        held.append((now + rng.uniform(0.5, 12), self.open(rng, kind)))
                        self.counts[kind] += 1
                self.struck["most connections held"] = max(
                    self.struck["most connections held"], len(held)
                )
        finally:
            for _, opened in held:
                opened.close()

    def open(self, rng, kind):
        """Opens a connection and leaves it in this state."""
        opened = socket.socket()
        try:
            if kind == "unread replies":
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.settimeout(2)
            opened.connect(("127.0.0.1", self.node.port))
            opened.sendall(self.message(rng, kind))
            return opened
        except OSError:
            opened.close()
            raise

    def message(self, rng, kind):
        """What is sent on a connection of this kind."""
        if kind == "idle connections":
            return b""
        if kind == "half requests":
            return b"POST /v1/grade HTTP/1.1\r\nhost: localhost\r\ncontent-"
        name = f"u{rng.getrandbits(48):x}"
        items = [item.body(name, name) for item in rng.sample(self.cheap, 60)]
        data = json.dumps({"run": "unread", "items": items}).encode()
        accept = rng.choice(["application/json", "application/x-ndjson"])
        head = (
            f"POST /v1/grade HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: {accept}\r\n"
            f"content-length: {len(data)}\r\n\r\n"
        )
        if kind == "half bodies":
            return head.encode() + data[: len(data) // 2]
        # More than the buffers of both sockets hold.
        return head.encode() + data + b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 50
