"""Carries out commands with blocking calls."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TypeVar

import httpx

from assay import _http
from assay._core import PROBE, Broken, Command, Core, Operation, Outcome, Send, Sleep
from assay._stream import StreamError

T = TypeVar("T")

# Connections for probes, which do not wait for requests to end.
SPARE_CONNECTIONS = 8


class Transport:
    """A pool of connections for threads. After a fork, the child has a pool of its own."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._begin()
        _TRANSPORTS.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._core.settings.connections)
        self._client: httpx.Client | None = None

    def after_fork(self) -> None:
        """Leaves the connections of the parent to the parent."""
        self._begin()
        self._core.nodes.after_fork()

    def close(self) -> None:
        """Closes the connections; a later call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
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
            return self._send(command)
        if not self._slots.acquire(timeout=command.timeout):
            return Broken(TimeoutError("waited for a connection"), False, timed_out=True)
        try:
            return self._send(command)
        finally:
            self._slots.release()

    def _send(self, send: Send) -> Outcome:
        ends_at = None if send.timeout is None else time.monotonic() + send.timeout
        sink = send.request.sink
        try:
            client = self._open()
            response = client.send(_http.build(client, send), stream=True)
            try:
                parts = []
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

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                settings = self._core.settings
                transport = httpx.HTTPTransport(
                    limits=_http.limits(settings.connections + SPARE_CONNECTIONS),
                    socket_options=_http.SOCKET_OPTIONS,
                )
                self._client = httpx.Client(
                    transport=transport,
                    mounts={pattern: transport for pattern in _http.LOOPBACK},
                    headers=dict(settings.headers),
                )
            return self._client


_TRANSPORTS: weakref.WeakSet[Transport] = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_TRANSPORTS):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
