"""Starts a node with keys for the scripts of this folder, sends requests to it, and measures its
memory and CPU time. The node has its default limits and its record in a temporary folder.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

# A node that takes more is ended, because it would take the memory of other processes next.
LARGEST_MIB = 6144
WATCH_SECONDS = 0.02
START_SECONDS = 60
STOP_SECONDS = 60


class Node:
    """One process of the service. `settings` are `ASSAY_…` variables without the prefix."""

    def __init__(self, binary, folder, settings=()):
        self.binary, self.folder = os.path.abspath(binary), pathlib.Path(folder)
        self.log = self.folder / "log"
        self.database = f"sqlite://{self.folder}/assay.db"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        own = {f"ASSAY_{name}": value for name, value in dict(settings).items()}
        self.environment = {**inherited, "NO_COLOR": "1", **own}
        self.process = self.port = None
        self.ended = None

    def key(self, name, role="trainer"):
        """Creates a key. A running node notices it within two seconds."""
        made = subprocess.run(
            [self.binary, "keys", "create", name, "--role", role, "--database", self.database],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return re.search(r"\bassay_\S+", made.stdout).group()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--listen", "127.0.0.1:0", "--database", self.database],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        threading.Thread(target=self.watch, args=(self.process,), daemon=True).start()
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            found = re.search(r"listening.*?127\.0\.0\.1:(\d+)", self.said())
            if found:
                self.port = int(found.group(1))
                return
            time.sleep(0.05)
        self.stop()
        raise SystemExit(f"the node did not start: {self.said()[-2000:]}")

    def watch(self, process):
        """Ends a process that takes too much memory."""
        with contextlib.suppress(OSError):
            # If memory runs out nevertheless, the node is ended first.
            pathlib.Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
        while process.poll() is None:
            with contextlib.suppress(OSError, ProcessLookupError):
                if resident(process.pid, "VmRSS") > LARGEST_MIB:
                    self.ended = f"it was ended because it took more than {LARGEST_MIB} MiB"
                    process.kill()
            time.sleep(WATCH_SECONDS)

    def said(self):
        return self.log.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def why_ended(self):
        return self.ended or f"status {self.process.returncode}: {self.said()[-1000:]}"

    def stop(self):
        """Ends the process, with SIGKILL if it does not end in time."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        self.process.kill()
        self.process.wait()

    def request(self, method, path, body=None, key=None, headers=(), timeout=300):
        """Status and body of a reply, on a connection of its own."""
        return request(self.port, method, path, body, key, headers, timeout)

    def memory(self, field="VmRSS"):
        return resident(self.process.pid, field)

    def reset_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def cpu(self):
        """CPU seconds of the service and of its workers, which may have ended."""
        spent = clock(self.process.pid)
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1]
        spent += sum(map(int, fields.split()[13:15])) / os.sysconf("SC_CLK_TCK")
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with contextlib.suppress(OSError):
                children = pathlib.Path(f"/proc/{self.process.pid}/task/{task}/children")
                for child in children.read_text().split():
                    with contextlib.suppress(OSError):
                        spent += clock(int(child))
        return spent


def resident(pid, field):
    """Resident memory in MiB: `VmRSS`, or `VmHWM` for the highest since `reset_peak`."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} has ended")


def request(port, method, path, body=None, key=None, headers=(), timeout=300, source=None):
    """Status and body of a reply. The connection comes from the address `source`, if any."""
    origin = (source, 0) if source else None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout, origin)
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    fields = {"content-type": "application/json"} if body is not None else {}
    if key:
        fields["authorization"] = f"Bearer {key}"
    try:
        connection.request(method, path, body, {**fields, **dict(headers)})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def clock(pid):
    """CPU seconds of a process, in nanoseconds' precision; `/proc` counts in steps of 10 ms."""
    # `clock_getcpuclockid`, which Python lacks: the complement of the id, and CPUCLOCK_SCHED.
    return time.clock_gettime((~pid << 3) | 2)


def end_on_signal():
    """SIGTERM also ends what this process started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@contextlib.contextmanager
def started(binary, roles, settings=(), prepare=None):
    """A running node and a key for each name in `roles`."""
    with tempfile.TemporaryDirectory() as folder:
        node = Node(binary, folder, settings)
        if prepare:
            prepare(node.folder)
        keys = {name: node.key(name, role) for name, role in roles.items()}
        node.start()
        try:
            yield node, keys
        finally:
            node.stop()
