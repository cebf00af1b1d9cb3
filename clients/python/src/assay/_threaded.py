"""Carries out commands with blocking calls."""

from __future__ import annotations

import os
import ssl
import threading
import time
import weakref
from collections.abc import Mapping
from typing import TypeVar

from assay import _http
from assay._connections import Connection
from assay._core import (
    PROBE,
    Broken,
    Command,
    Core,
    Operation,
    Outcome,
    Send,
    SilentServerError,
    Sleep,
    health,
)
from assay._nodes import Node

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
        self._verify: ssl.SSLContext | None = None
        self._is_verify_known = False
        # Connections that no request uses, by server.
        self._idle: dict[str, list[Connection]] = {}

    def after_fork(self) -> None:
        """Leaves the connections of the parent to the parent."""
        self._begin()
        self._core.nodes.after_fork()

    def close(self) -> None:
        """Closes the connections that are not in use; a later call opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

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
        idle, connection = self._take(send.node.url)
        # Does not refer to the body, which an idle connection would keep.
        headers, verify, node, silence = (
            self._core.settings.headers,
            self._verify,
            send.node,
            send.silence,
        )
        deadline = connection.deadline
        deadline.silence = silence
        deadline.check = lambda left: check(headers, verify, node, silence or 0.0, left)
        try:
            outcome = _exchange(connection, send)
        except BaseException:
            connection.close()
            raise
        if isinstance(outcome, Broken):
            connection.close()
        else:
            self._give_back(idle, send.node.url, connection)
        return outcome

    def _take(self, url: str) -> tuple[dict[str, list[Connection]], Connection]:
        """A connection to a server, which may have to be opened."""
        with self._lock:
            idle = self._idle
            if idle.get(url):
                return idle, idle[url].pop()
            if not self._is_verify_known:
                self._is_verify_known = True
                self._verify = _http.tls(self._core.settings.urls)
        return idle, _http.connection(self._core.settings.headers, self._verify)

    def _give_back(
        self, idle: dict[str, list[Connection]], url: str, connection: Connection
    ) -> None:
        with self._lock:
            if idle is self._idle:
                idle.setdefault(url, []).append(connection)
                return
        # The transport was closed in the meantime.
        connection.close()


def _exchange(connection: Connection, send: Send) -> Outcome:
    connection.deadline.ends_at = None if send.timeout is None else time.monotonic() + send.timeout
    client = connection.client
    try:
        response = client.send(_http.build(client, send), stream=True)
        try:
            receiver = _http.Receiver(send, response)
            for data in response.iter_raw():
                if not receiver.feed(data):
                    break
        finally:
            response.close()
    except _http.UNSENDABLE:
        raise
    except _http.LOST as error:
        return _http.broken(error)
    return receiver.reply()


def send_alone(headers: Mapping[str, str], verify: ssl.SSLContext | None, send: Send) -> Outcome:
    """Sends a request with a connection of its own, because an idle one may have been closed."""
    connection = _http.connection(headers, verify)
    try:
        return _exchange(connection, send)
    finally:
        connection.close()


def check(
    headers: Mapping[str, str],
    verify: ssl.SSLContext | None,
    node: Node,
    silence: float,
    left: float | None,
) -> None:
    """Raises if a server from which nothing arrived is not alive."""
    outcome = send_alone(headers, verify, health(node, left))
    if isinstance(outcome, Broken) and not outcome.shows_life:
        raise SilentServerError(silence, outcome.error)


_TRANSPORTS: weakref.WeakSet[Transport] = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_TRANSPORTS):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
