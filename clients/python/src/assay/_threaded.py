"""Carries out commands with blocking calls."""

from __future__ import annotations

import os
import ssl
import threading
import time
import weakref
from typing import TypeVar

import httpx

from assay import _http
from assay._core import PROBE, Broken, Command, Core, Operation, Outcome, Send, Sleep
from assay._stream import StreamError

T = TypeVar("T")


class Transport:
    """A pool of connections for threads. After a fork, the child has a pool of its own."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._begin()
        _TRANSPORTS.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._core.settings.connections)
        self._verify: ssl.SSLContext | bool | None = None
        # Clients with a connection that no request uses, by server.
        self._idle: dict[str, list[httpx.Client]] = {}

    def after_fork(self) -> None:
        """Leaves the connections of the parent to the parent."""
        self._begin()
        self._core.nodes.after_fork()

    def close(self) -> None:
        """Closes the connections that are not in use; a later call opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for clients in idle.values():
            for client in clients:
                client.close()

    def run(self, operation: Operation[T]) -> T:
        """Runs an operation to its end."""
        try:
            command = next(operation)
            while True:
                command = operation.send(self._perform(command))
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            operation.close()

    def _perform(self, command: Command) -> Outcome:
        if isinstance(command, Sleep):
            time.sleep(command.seconds)
            return None
        if command.request is PROBE:
            # Probes do not wait for requests to end.
            return self._send(command)
        if not self._slots.acquire(timeout=command.timeout):
            return Broken(TimeoutError("waited for a connection"), False, timed_out=True)
        try:
            return self._send(command)
        finally:
            self._slots.release()

    def _send(self, send: Send) -> Outcome:
        idle, client = self._take(send.node.url)
        try:
            outcome = self._exchange(client, send)
        except BaseException:
            client.close()
            raise
        if isinstance(outcome, Broken):
            client.close()
        else:
            self._give_back(idle, send.node.url, client)
        return outcome

    def _exchange(self, client: httpx.Client, send: Send) -> Outcome:
        ends_at = None if send.timeout is None else time.monotonic() + send.timeout
        sink = send.request.sink
        parts: list[bytes] = []
        try:
            response = client.send(_http.build(client, send), stream=True)
            try:
                for data in response.iter_bytes():
                    if sink is not None and response.status_code == 200:
                        sink(data)
                    else:
                        parts.append(data)
                    if ends_at is not None and time.monotonic() >= ends_at:
                        raise TimeoutError("the reply was not complete in time")
            finally:
                response.close()
        except (httpx.HTTPError, httpx.StreamError, OSError, StreamError) as error:
            return _http.broken(error)
        return _http.reply(response.status_code, response.headers, b"".join(parts))

    def _take(self, url: str) -> tuple[dict[str, list[httpx.Client]], httpx.Client]:
        """A client with a connection to a server, or with none yet."""
        with self._lock:
            idle = self._idle
            if idle.get(url):
                return idle, idle[url].pop()
            if self._verify is None:
                self._verify = _http.tls(self._core.settings.urls)
        return idle, _http.client(self._core.settings.headers, self._verify)

    def _give_back(
        self, idle: dict[str, list[httpx.Client]], url: str, client: httpx.Client
    ) -> None:
        with self._lock:
            if idle is self._idle:
                idle.setdefault(url, []).append(client)
                return
        # The transport was closed in the meantime.
        client.close()


_TRANSPORTS: weakref.WeakSet[Transport] = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_TRANSPORTS):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
