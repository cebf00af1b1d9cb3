"""Nodes and faults for the tests."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from assay import _binary

START_TIMEOUT = 60.0


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def math_item(name: str, given: int, gold: int, group: str | None = None) -> dict[str, Any]:
    item = {
        "id": name,
        "completion": f"so it is \\boxed{{{given}}}.",
        "task": {"type": "math", "answer": str(gold)},
    }
    return item if group is None else {**item, "group": group}


def math_items(count: int, size: int = 8) -> list[dict[str, Any]]:
    """Items in groups of `size`; those at even places of a group are right."""
    return [
        math_item(f"i{number}", gold if number % 2 == 0 else gold + 1, gold, f"g{number // size}")
        for number in range(count)
        for gold in [number // size + 2]
    ]


def expected_rewards(count: int) -> list[float]:
    return [1.0 if number % 2 == 0 else 0.0 for number in range(count)]


class Node:
    """A node on a fixed port, which can be killed and started again with its record."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.database = f"sqlite://{folder}/record.db" if database is None else database
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Node:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    _binary.find(), "serve", "--listen", f"127.0.0.1:{self.port}",
                    "--database", self.database,
                ],
                cwd=self.folder,
                env=_binary.environment(),
                stdout=log,
                stderr=log,
            )  # fmt: skip
        ends_at = time.monotonic() + START_TIMEOUT
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=5):
                    return self
            except OSError:
                if time.monotonic() > ends_at or self.process.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def hang(self) -> None:
        """The system still accepts connections for the node, which answers nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.resume()
            self.process.wait(START_TIMEOUT)

    def grades(self, run: str) -> list[dict[str, Any]]:
        """All grades of a run, read without the client."""
        found: list[dict[str, Any]] = []
        before = ""
        while True:
            url = f"{self.url}/v1/grades?run={run}&limit=1000{before}"
            with urllib.request.urlopen(url) as reply:
                page = json.load(reply)
            found += page["grades"]
            if page["next"] is None:
                return found
            before = f"&before={page['next']}"


def recorded_ids(nodes: Iterable[Node], run: str) -> list[str]:
    """Ids of the items of a run in all records, sorted; an item graded twice is there twice."""
    return sorted(grade["id"] for node in nodes for grade in node.grades(run))


Fault = Callable[["Exchange"], None]


class Exchange:
    """A request that passes the proxy, for a fault to act on."""

    def __init__(self, handler: BaseHTTPRequestHandler, upstream: tuple[str, int]) -> None:
        self.handler = handler
        self.upstream = upstream
        length = int(handler.headers.get("content-length", 0))
        self.body = handler.rfile.read(length)

    def forward(self) -> tuple[int, dict[str, str], bytes]:
        """The complete reply of the node."""
        connection = http.client.HTTPConnection(*self.upstream, timeout=60)
        try:
            headers = {
                name: value
                for name, value in self.handler.headers.items()
                if name.lower() not in ("host", "connection")
            }
            connection.request(self.handler.command, self.handler.path, self.body, headers)
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def answer(
        self, status: int, headers: dict[str, str], body: bytes, sent: int | None = None
    ) -> None:
        """Answers; with `sent`, closes the connection after so many bytes of the body."""
        self.handler.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.handler.send_header(name, value)
        self.handler.send_header("content-length", str(len(body)))
        self.handler.end_headers()
        self.handler.wfile.write(body if sent is None else body[:sent])
        self.handler.wfile.flush()
        if sent is not None:
            self.hang_up()

    def hang_up(self) -> None:
        self.handler.close_connection = True
        self.handler.connection.shutdown(socket.SHUT_RDWR)


def passed(exchange: Exchange) -> None:
    exchange.answer(*exchange.forward())


def cut_in_half(exchange: Exchange) -> None:
    """The node grades the batch, and half of its reply arrives."""
    status, headers, body = exchange.forward()
    exchange.answer(status, headers, body, sent=len(body) // 2)


def lost_reply(exchange: Exchange) -> None:
    """The node grades the batch, and nothing of its reply arrives."""
    exchange.forward()
    exchange.hang_up()


def lost_request(exchange: Exchange) -> None:
    """The connection ends before the node gets the request."""
    exchange.hang_up()


def rejected(status: int, code: str, retry_after: str | None = None) -> Fault:
    """The node rejects the request."""

    def answer(exchange: Exchange) -> None:
        body = {"error": {"code": code, "message": "no", "pointer": None}, "request_id": None}
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        exchange.answer(status, headers, json.dumps(body).encode())

    return answer


def bad_gateway(exchange: Exchange) -> None:
    """A gateway forwards the request, and fails before it has the reply."""
    exchange.forward()
    exchange.answer(502, {"content-type": "text/html"}, b"<html>bad gateway</html>")


class FaultProxy:
    """Passes requests on to a node. The faults of `plan` happen to the first requests of
    `/v1/grade`, one to each."""

    def __init__(
        self,
        url: str,
        plan: Iterable[Fault],
        listen: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        host, port = url.rsplit("/", 1)[1].split(":")
        proxy = self
        self.plan = list(plan)
        # What happens to checks whether the node is alive, and how many there were.
        self.on_check: Fault = passed
        self.checks = 0
        self.faults = 0
        self.requests = 0
        self.keys: list[str | None] = []
        self.encodings: list[str | None] = []
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                exchange = Exchange(self, (host, int(port)))
                act: Fault = passed
                if self.path == "/v1/grade":
                    with lock:
                        proxy.requests += 1
                        proxy.keys.append(self.headers.get("idempotency-key"))
                        proxy.encodings.append(self.headers.get("content-encoding"))
                        if proxy.plan:
                            act = proxy.plan.pop(0)
                            proxy.faults += 1
                elif self.path == "/healthz":
                    with lock:
                        proxy.checks += 1
                    act = proxy.on_check
                try:
                    act(exchange)
                except OSError:
                    # The client is gone, or the node is.
                    self.close_connection = True

            do_GET = do_POST = handle_one

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Proxy(ThreadingHTTPServer):
            # The default of 5 drops connections of a client that opens 32.
            request_queue_size = 128

        self._server = Proxy((listen, 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://{listen}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def memory_mib(pid: int | str = "self") -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def sockets() -> int:
    """Open sockets of this process."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except OSError:
            continue
    return count


def is_alive(pid: int) -> bool:
    """Whether a process runs; a dead child that nobody waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def in_child(task: Callable[[], bool]) -> bool:
    """What a task returns in a forked child, which has a minute."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if task() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at, "the condition was not met in time"
        time.sleep(0.02)
