"""Code of both transports: connections, timeouts, and the classification of failures."""

from __future__ import annotations

import math
import socket
import ssl
from collections.abc import Iterable, Mapping

import httpcore
import httpx
import zstandard

from assay._connections import Connection
from assay._core import Broken, Reply, Send
from assay._decoding import BodyDecoder, DecodeError, TooLongError
from assay._streams import Transport

CONNECT_TIMEOUT = 10.0
# Idle connections are closed by the client before a server does so, which would look like a lost
# connection.
KEEPALIVE_EXPIRY = 5.0

# Longest `Retry-After` that is respected, in seconds.
LONGEST_RETRY_AFTER = 600.0

# Higher levels take longer than sending the bytes that they save.
ZSTD_LEVEL = 1

# Errors that mean that the request has not been sent.
NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpcore.ConnectError,
    httpcore.ConnectTimeout,
    httpcore.PoolTimeout,
)

# Without these, a read from a server whose machine vanished would last until the deadline.
SOCKET_OPTIONS = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in [("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6)]
        if hasattr(socket, name)
    ),
]
# Proxies that the environment configures are not used for these.
LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")

# Requests that no client can send; the server is not at fault.
UNSENDABLE = (
    httpx.LocalProtocolError,
    httpx.UnsupportedProtocol,
    httpcore.LocalProtocolError,
    httpcore.UnsupportedProtocol,
)
# Failures of a connection. The transport of threads raises errors of `httpcore`.
LOST = (
    httpx.HTTPError,
    httpx.StreamError,
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    OSError,
    DecodeError,
)
TIMED_OUT = (httpx.TimeoutException, httpcore.TimeoutException, TimeoutError)

# Most bytes of an error that are read.
MOST_ERROR_BYTES = 1 << 20
# Most bytes of a reply, and the bytes added for each of its items. Results have a few kilobytes.
MOST_BYTES = 64 << 20
MOST_ITEM_BYTES = 64 << 10


def tls(urls: Iterable[str]) -> ssl.SSLContext | None:
    """Certificates to verify servers, which are slow to load; none if no URL needs them."""
    return httpx.create_ssl_context() if any(url.startswith("https") for url in urls) else None


def connection(headers: Mapping[str, str], verify: ssl.SSLContext | None) -> Connection:
    """A connection of a thread."""
    return Connection(headers, verify, LOOPBACK, KEEPALIVE_EXPIRY, SOCKET_OPTIONS)


def async_client(headers: Mapping[str, str], verify: ssl.SSLContext | None) -> httpx.AsyncClient:
    """A client with one connection for asyncio."""
    transport = Transport(verify, KEEPALIVE_EXPIRY, SOCKET_OPTIONS)
    return httpx.AsyncClient(
        verify=verify if verify is not None else False,
        transport=transport,
        mounts={pattern: transport for pattern in LOOPBACK},
        headers=dict(headers),
    )


class Receiver:
    """Receives the body of a response."""

    def __init__(self, send: Send, response: httpx.Response) -> None:
        request = send.request
        self._response = response
        self._pieces: list[bytes] = []
        self._is_error = response.status_code != 200
        use = self._pieces.append if self._is_error or request.sink is None else request.sink
        most = MOST_ERROR_BYTES if self._is_error else MOST_BYTES + MOST_ITEM_BYTES * request.weight
        encoding = response.headers.get("content-encoding", "").strip().lower()
        self._decoder = BodyDecoder(encoding, most, use)

    def feed(self, data: bytes) -> bool:
        """Takes bytes as they arrived. Returns whether more are wanted."""
        try:
            self._decoder.feed(data)
        except TooLongError:
            if not self._is_error:
                raise
            return False
        return True

    def reply(self) -> Reply:
        """The reply."""
        return reply(self._response.status_code, self._response.headers, b"".join(self._pieces))


def build(client: httpx.Client | httpx.AsyncClient, send: Send) -> httpx.Request:
    """The request of a command."""
    request = send.request
    connect = CONNECT_TIMEOUT if send.timeout is None else min(CONNECT_TIMEOUT, send.timeout)
    headers, body = dict(request.headers), request.body
    if send.node.is_local:
        # On the same machine, compressing takes longer than sending.
        headers["accept-encoding"] = "identity"
    else:
        headers["accept-encoding"] = "zstd, gzip"
    if not send.node.is_local and request.compress and body is not None:
        body = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(body)
        headers["content-encoding"] = "zstd"
    return client.build_request(
        request.method,
        send.node.url + request.path,
        params=request.query or None,
        content=body,
        headers=headers,
        timeout=httpx.Timeout(send.timeout, connect=connect),
    )


def broken(error: Exception) -> Broken:
    """Classifies a failure of a request."""
    # The text of many errors of the transport is empty.
    named = error if str(error) else type(error)(type(error).__name__)
    return Broken(
        named,
        may_be_sent=not isinstance(error, NOT_SENT),
        timed_out=isinstance(error, TIMED_OUT),
    )


def reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """A complete reply."""
    retry_after = None
    try:
        seconds = float(headers["retry-after"])
        if math.isfinite(seconds):
            retry_after = min(max(seconds, 0.0), LONGEST_RETRY_AFTER)
    except (KeyError, ValueError):
        # Dates are not used by the service.
        pass
    return Reply(status, body, retry_after)
