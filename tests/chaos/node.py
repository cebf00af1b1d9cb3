"""The node under test: starts, queries, measures, signals and restarts it on the same record."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

SHUTDOWN_SECONDS = 2
# docs/OPERATIONS.md: the process ends at most 17 s after `shutdown_seconds`.
STOP_DEADLINE = SHUTDOWN_SECONDS + 17
DATABASE = "assay.db"
# Timeouts are short enough to expire during a short run, and the limit of connections is below what
# the faults open. Outcomes and scores of models are not cached, so that every item is graded again.
CONFIGURATION = """
[server]
shutdown_seconds = {shutdown}
connections = 256
head_seconds = 5
idle_seconds = 10
body_pause_seconds = 5
reply_pause_seconds = 5

[engine]
outcome_bytes = 0
prepared_bytes = 4194304

[sandbox_workers]
count = {workers}

[channels]
refresh_seconds = 1.0

[reward_models]
folder = "models"
default = "{model}"
hub = ""
cache_bytes = 0
threads = 1

[reward_models.load.{model}]
source = "{model}"

[policies.appealed]
summary = "half of the verdicts of `math` are appealed"

[[policies.appealed.appeals]]
judge = {{ type = "math", answer = "{{{{ task.answer }}}}", extract = "boxed" }}
channels = ["math/*"]
negatives = 0.5
positives = 0.5
"""


START_SECONDS = 60


class Refused(Exception):
    """The node did not start."""


class Node:
    """One node, over all its processes."""

    def __init__(self, binary, home, record, workers, model):
        self.binary, self.home, self.record, self.count = (
            binary,
            pathlib.Path(home),
            pathlib.Path(record),
            workers,
        )
        self.log = self.home / "log"
        self.process = self.port = None
        self.running = threading.Event()
        (self.home / "assay.toml").write_text(
            CONFIGURATION.format(shutdown=SHUTDOWN_SECONDS, workers=workers, model=model)
        )

    @property
    def database(self):
        return self.record / DATABASE

    def start(self):
        """Starts a process and waits until it listens."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")
        }
        begin = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [
                    self.binary,
                    "serve",
                    "--config",
                    "assay.toml",
                    "--listen",
                    "127.0.0.1:0",
                    "--database",
                    f"sqlite://{self.database}",
                ],
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**environment, "NO_COLOR": "1"},
            )
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            ended = self.process.poll() is not None
            said = self.said(begin)
            found = re.search(r"listening.*?127\.0\.0\.1:(\d+)", said)
            if found:
                self.port = int(found.group(1))
                self.running.set()
                return
            if ended:
                raise Refused(said[-2000:])
            time.sleep(0.02)
        self.process.kill()
        self.process.wait()
        raise Refused(f"it did not listen within {START_SECONDS} s: {said[-2000:]}")

    def said(self, begin=0):
        """The log from byte `begin` on."""
        with open(self.log, "rb") as log:
            log.seek(begin)
            return log.read().decode(errors="replace")

    def kill(self):
        """Ends the process with SIGKILL; returns the ids of its workers."""
        workers = self.workers()
        self.running.clear()
        self.process.kill()
        self.process.wait()
        return workers

    def terminate(self):
        """Sends SIGTERM; returns the exit status (None if the process had to be killed) and the
        seconds until it ended.
        """
        self.running.clear()
        began = time.monotonic()
        self.process.terminate()
        try:
            # Longer than allowed, so that the time can be reported.
            return self.process.wait(STOP_DEADLINE + 20), time.monotonic() - began
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None, time.monotonic() - began

    def get(self, path, timeout=20):
        """Status and body of a reply, on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def readiness(self):
        """Status and parsed body of `/readyz`; None and an empty body without a reply."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, body = self.get("/readyz")
            return status, json.loads(body)
        return None, {}

    def model_is_ready(self, model):
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, body = self.get(f"/v1/reward-models/{model}")
            return status == 200 and json.loads(body)["state"] == "ready"
        return False

    def wait_until_ready(self, model, seconds):
        """Seconds until the node and its model are ready, or None."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self.readiness()[0] == 200 and self.model_is_ready(model):
                return time.monotonic() - began
            if self.process.poll() is not None:
                return None
            time.sleep(0.1)
        return None

    def children(self):
        """Ids of the child processes, with their states as in `/proc/PID/stat`."""
        found = {}
        pid = self.process.pid
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    for child in (
                        pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()
                    ):
                        state = state_of(int(child))
                        if state:
                            found[int(child)] = state
        return found

    def workers(self):
        """Ids of the child processes that run untrusted work."""
        return [pid for pid, state in self.children().items() if state != "Z" and is_worker(pid)]


def is_worker(pid):
    """Whether a process is a worker, by its first argument."""
    with contextlib.suppress(OSError):
        arguments = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return len(arguments) > 1 and arguments[1] == b"__sandbox_worker"
    return False


def state_of(pid):
    """State of a process; None if it does not exist."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return None


def is_busy(pid):
    """Whether a thread of the process is runnable."""
    with contextlib.suppress(OSError):
        tasks = os.listdir(f"/proc/{pid}/task")
        return any(state_of(f"{pid}/task/{task}") == "R" for task in tasks)
    return False


def signal_worker(pid, number):
    """Signals a worker; returns whether it still existed."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # The id may belong to another process by now; with the descriptor it can no longer change.
        if not is_worker(pid):
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def usage(pid):
    """Memory (PSS) in MiB and open descriptors of a process."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    pss = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return pss / 1024, len(os.listdir(f"/proc/{pid}/fd"))
