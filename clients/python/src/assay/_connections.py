"""Connections of threads, whose every read and write ends at the deadline of the request.

The timeouts of `httpx` are those of single reads, so a server that sends a byte now and then would
extend a request forever. During a long read or write, the client checks that the server is alive.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import httpcore
import httpx

SocketOptions = Iterable[Any]
T = TypeVar("T")


class Deadline:
    """The time at which the request of a connection ends."""

    def __init__(self) -> None:
        self.ends_at: float | None = None
        # Seconds of a read or write after which `check` is called with the remaining seconds. It
        # raises if the server is not alive. `None`: it is never called.
        self.silence: float | None = None
        self.check: Callable[[float | None], None] = lambda _: None

    def left(self, timeout: float | None, error: type[Exception]) -> float | None:
        """Seconds for the next read or write, of which one may take `timeout`."""
        if self.ends_at is None:
            return timeout
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise error("the deadline passed")
        return left if timeout is None else min(left, timeout)

    def transfer(
        self, act: Callable[[float | None], T], timeout: float | None, error: type[Exception]
    ) -> T:
        """Reads or writes with `act`, a function of the seconds that it may take."""
        while True:
            left = self.left(timeout, error)
            if self.silence is None or (left is not None and left <= self.silence):
                return act(left)
            try:
                return act(self.silence)
            except error:
                self.check(self.left(None, error))


class DeadlineStream(httpcore.NetworkStream):
    """A connection with a deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline
        self._socket: socket.socket = stream.get_extra_info("socket")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Reads what has arrived, or waits for the first bytes."""
        return self._deadline.transfer(
            lambda left: self._stream.read(max_bytes, left), timeout, httpcore.ReadTimeout
        )

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Writes all bytes."""
        view = memoryview(buffer)

        def send(left: float | None) -> int:
            self._socket.settimeout(left)
            try:
                return self._socket.send(view)
            except socket.timeout as error:
                raise httpcore.WriteTimeout(str(error)) from error
            except OSError as error:
                raise httpcore.WriteError(str(error)) from error

        while view:
            view = view[self._deadline.transfer(send, timeout, httpcore.WriteTimeout) :]

    def close(self) -> None:
        """Closes the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """The connection with encryption."""
        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, left)
        return DeadlineStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Details of the connection."""
        return self._stream.get_extra_info(info)


class DeadlineBackend(httpcore.SyncBackend):
    """Opens connections with a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: SocketOptions | None = None,
    ) -> httpcore.NetworkStream:
        """Connects to a server."""
        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        stream = super().connect_tcp(host, port, left, local_address, socket_options)
        return DeadlineStream(stream, self._deadline)


def raw_request(request: httpx.Request) -> httpcore.Request:
    """A request as a pool of `httpcore` takes it."""
    url = request.url
    return httpcore.Request(
        method=request.method,
        url=httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        ),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def built_response(
    response: httpcore.Response, body: httpx.SyncByteStream | httpx.AsyncByteStream
) -> httpx.Response:
    """A response of a pool, with a stream of its body."""
    return httpx.Response(
        status_code=response.status,
        headers=response.headers,
        stream=body,
        extensions=response.extensions,
    )


class _Body(httpx.SyncByteStream):
    """The body of a response."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


class DeadlineTransport(httpx.BaseTransport):
    """A transport of `httpx` with one connection, which has a deadline."""

    def __init__(
        self,
        deadline: Deadline,
        verify: ssl.SSLContext | None,
        keepalive: float,
        socket_options: SocketOptions,
    ) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=verify,
            max_connections=1,
            max_keepalive_connections=1,
            keepalive_expiry=keepalive,
            socket_options=socket_options,
            network_backend=DeadlineBackend(deadline),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request."""
        response = self._pool.handle_request(raw_request(request))
        return built_response(response, _Body(response))

    def close(self) -> None:
        """Closes the connection."""
        self._pool.close()


class Connection:
    """A client of `httpx` with one connection, and its deadline."""

    def __init__(
        self,
        headers: Mapping[str, str],
        verify: ssl.SSLContext | None,
        loopback: Iterable[str],
        keepalive: float,
        socket_options: SocketOptions,
    ) -> None:
        self.deadline = Deadline()
        transport = DeadlineTransport(self.deadline, verify, keepalive, socket_options)
        self.client = httpx.Client(
            verify=verify if verify is not None else False,
            transport=transport,
            mounts={pattern: transport for pattern in loopback},
            headers=dict(headers),
        )

    def close(self) -> None:
        """Closes the connection."""
        self.client.close()
