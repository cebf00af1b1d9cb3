"""Private nodes: servers that a process starts for itself, and that end with it."""

from __future__ import annotations

import collections
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from assay import _binary
from assay._log import LOG_LINES, read_log
from assay._options import checked_port, config_file, database_url
from assay.errors import CommandFailedError, DeadlineExceededError

if TYPE_CHECKING:
    from assay.aio import AsyncClient
    from assay.client import Client

# Seconds to wait for a node to stop. Then it is killed, because nobody waits for its replies.
STOP_TIMEOUT = 5.0
READY_PAUSE = 0.02
LONGEST_READY_PAUSE = 0.25
# Seconds after which the reason for waiting is shown.
SHOW_AFTER = 1.0


def serve(
    *,
    port: int | None = None,
    database: str | os.PathLike[str] = "",
    config: str | os.PathLike[str] | None = None,
    arguments: Sequence[str] = (),
    show_log: bool = False,
    timeout: float = 600.0,
) -> Server:
    """Starts a private node on the loopback interface, and waits until it is ready.

    The node stops when the server object is closed or garbage-collected, and when this process
    ends, even if it is killed. A forked child can use the node, but does not stop it.

    - `port`: the port of its URL; `None` or 0 for a free one.
    - `database`: where grades are recorded, such as `grades.db`; nowhere by default.
    - `config`: a configuration file. By default there is none, and an `assay.toml` in the current
      folder is not read. `ASSAY_*` variables of the environment apply.
    - `arguments`: further arguments of `assay serve`.
    - `show_log`: whether log lines are written to standard error.
    - `timeout`: seconds to wait for the node. The first start after the installation compiles
      images, which takes longer than later starts.
    """
    return Server(port, database, config, arguments, show_log, timeout)


class Server:
    """A running private node."""

    url: str
    """URL of the node."""

    def __init__(
        self,
        port: int | None,
        database: str | os.PathLike[str],
        config: str | os.PathLike[str] | None,
        arguments: Sequence[str],
        show_log: bool,
        timeout: float,
    ) -> None:
        self._port = checked_port(port)
        command = [_binary.find(), "serve", "--listen", f"127.0.0.1:{self._port}"]
        command += ["--database", database_url(database), "--print-url", "--exit-on-stdin-close"]
        command += ["--config", config_file(config)]
        # The node ends when the last copy of the other end of its standard input is closed, which
        # the system does for a killed process. In its own session it gets no terminal interrupts.
        self._process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_binary.environment(),
            start_new_session=True,
        )
        _PROCESSES.add(self._process)
        self._owner = os.getpid()
        self._log: collections.deque[str] = collections.deque(maxlen=LOG_LINES)
        self._stop = weakref.finalize(self, _stop, self._process, self._owner)
        threading.Thread(
            target=read_log,
            args=(self._process.stderr, self._log, show_log),
            name="assay-log",
            daemon=True,
        ).start()
        try:
            ends_at = time.monotonic() + timeout
            self.url = self._read_url(ends_at)
            self._wait_until_ready(ends_at)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id of the node."""
        return self._process.pid

    @property
    def log(self) -> list[str]:
        """The last lines of the log."""
        return list(self._log)

    def client(self, **options: Any) -> Client:
        """A client of the node; `options` are the arguments of `Client`."""
        from assay.client import Client

        return Client(self.url, **options)

    def async_client(self, **options: Any) -> AsyncClient:
        """A client of the node for asyncio; `options` are the arguments of `AsyncClient`."""
        from assay.aio import AsyncClient

        return AsyncClient(self.url, **options)

    def close(self) -> None:
        """Stops the node. In a forked child this does nothing."""
        self._stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server {self.url}, process {self.pid}>"

    def _read_url(self, ends_at: float) -> str:
        output = self._process.stdout
        assert output is not None
        poll = select.poll()
        poll.register(output, select.POLLIN | select.POLLHUP)
        line = b""
        while not line.endswith(b"\n"):
            left = ends_at - time.monotonic()
            if left <= 0:
                raise DeadlineExceededError(self._with_log("the node did not print its URL"))
            if poll.poll(left * 1000):
                data = os.read(output.fileno(), 1024)
                if not data:
                    raise self._ended()
                line += data
        return line.decode().strip()

    def _wait_until_ready(self, ends_at: float) -> None:
        shown, show_at, pause = "", time.monotonic() + SHOW_AFTER, READY_PAUSE
        with httpx.Client(trust_env=False) as client:
            while True:
                if self._process.poll() is not None:
                    raise self._ended()
                reason = ""
                try:
                    reply = client.get(f"{self.url}/readyz", timeout=5.0)
                    if reply.status_code == 200:
                        return
                    reason = str(reply.json()["error"]["message"])
                except (httpx.HTTPError, ValueError, KeyError, TypeError):
                    pass
                now = time.monotonic()
                if now >= ends_at:
                    raise DeadlineExceededError(self._with_log(f"the node is not ready: {reason}"))
                if now >= show_at and reason != shown:
                    print(f"assay: waiting for the node: {reason}", file=sys.stderr, flush=True)
                    shown = reason
                time.sleep(pause)
                pause = min(pause * 1.5, LONGEST_READY_PAUSE)

    def _ended(self) -> CommandFailedError:
        status = self._process.wait()
        # The thread that reads the log finishes soon.
        time.sleep(0.1)
        if any("Address already in use" in line for line in self._log):
            message = (
                f"port {self._port} is in use; choose another `port`, or `None` for a free one"
            )
        else:
            message = self._with_log(f"`assay serve` ended with status {status}")
        return CommandFailedError(message, "\n".join(self._log))

    def _with_log(self, message: str) -> str:
        lines = "\n".join(list(self._log)[-10:])
        return f"{message}:\n{lines}" if lines else message


def _stop(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_PROCESSES: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


def _after_fork() -> None:
    """A child must not keep the node of its parent running."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for process in list(_PROCESSES):
        for pipe in (process.stdin, process.stdout, process.stderr):
            # Replaces the descriptor rather than closing the file, whose lock another thread of
            # the parent may hold.
            if pipe is not None and not pipe.closed:
                os.dup2(nothing, pipe.fileno(), inheritable=False)
    os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
