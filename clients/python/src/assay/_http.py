"""What both transports share: connections, timeouts, and which failures are which."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping

import httpx
import zstandard

from assay._core import Broken, Reply, Send

CONNECT_TIMEOUT = 10.0
# Idle connections are closed by the client before a server does so, which would look like a lost
# connection.
KEEPALIVE_EXPIRY = 5.0

# A level above 1 takes longer than sending what it saves.
ZSTD_LEVEL = 1

# The request has surely not been sent.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

# Without these, a read from a server whose machine vanished would last until the deadline.
SOCKET_OPTIONS = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in [("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6)]
        if hasattr(socket, name)
    ),
]
# Proxies of the environment are not asked for these.
LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


# Each client has one connection at a time. The pool of `httpx` looks at every pair of its
# connections when a request begins or ends, which takes milliseconds with 32 of them.
LIMITS = httpx.Limits(
    max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEPALIVE_EXPIRY
)


def tls(urls: Iterable[str]) -> ssl.SSLContext | bool:
    """Certificates to verify servers, which take long to load; `False` if no URL needs them."""
    return httpx.create_ssl_context() if any(url.startswith("https") for url in urls) else False


def client(headers: Mapping[str, str], verify: ssl.SSLContext | bool) -> httpx.Client:
    """A client with one connection."""
    transport = httpx.HTTPTransport(verify=verify, limits=LIMITS, socket_options=SOCKET_OPTIONS)
    return httpx.Client(
        verify=verify,
        transport=transport,
        mounts={pattern: transport for pattern in LOOPBACK},
        headers=dict(headers),
    )


def async_client(headers: Mapping[str, str], verify: ssl.SSLContext | bool) -> httpx.AsyncClient:
    """A client with one connection for asyncio."""
    transport = httpx.AsyncHTTPTransport(
        verify=verify, limits=LIMITS, socket_options=SOCKET_OPTIONS
    )
    return httpx.AsyncClient(
        verify=verify,
        transport=transport,
        mounts={pattern: transport for pattern in LOOPBACK},
        headers=dict(headers),
    )


def build(client: httpx.Client | httpx.AsyncClient, send: Send) -> httpx.Request:
    """The request of a command."""
    request = send.request
    connect = CONNECT_TIMEOUT if send.timeout is None else min(CONNECT_TIMEOUT, send.timeout)
    headers, body = dict(request.headers), request.body
    if send.node.is_local:
        # On the same machine, compressing takes longer than sending.
        headers["accept-encoding"] = "identity"
    elif request.compress and body is not None:
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
    """What a failure says about the request."""
    # The text of many errors of the transport is empty.
    named = error if str(error) else type(error)(type(error).__name__)
    return Broken(
        named,
        may_be_sent=not isinstance(error, NOT_SENT),
        timed_out=isinstance(error, (httpx.TimeoutException, TimeoutError)),
    )


def reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """A complete reply."""
    try:
        retry_after = max(float(headers["retry-after"]), 0.0)
    except (KeyError, ValueError):
        retry_after = None
    return Reply(status, body, retry_after)
