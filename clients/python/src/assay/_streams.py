"""Connections of event loops.

A request that is cancelled while its connection opens must neither leave the connection open nor go
on. Libraries that open connections in task groups do both when the cancellation arrives as the
connection is made, so this module uses protocols of `asyncio` alone.
"""

from __future__ import annotations

import asyncio
import selectors
import ssl
from collections.abc import AsyncIterator
from typing import Any, cast

import httpcore
import httpx

from assay._connections import SocketOptions, built_response, raw_request

# Received bytes above which reading pauses.
MOST_RECEIVED = 1 << 18
Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """A connection. One call reads at a time, and one writes."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._is_paused = False
        self._is_full = False
        self._is_lost = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None

    # -- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        # Those of other event loops, such as uvloop, are of no class of `asyncio`.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        self._received += data
        if len(self._received) > MOST_RECEIVED and not self._is_paused:
            self._is_paused = True
            self._open().pause_reading()
        _wake(self._reader)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._is_lost = True
        self._error = exc
        _wake(self._reader)
        _wake(self._writer)

    def pause_writing(self) -> None:
        """The server reads slowly."""
        self._is_full = True

    def resume_writing(self) -> None:
        """The server has read."""
        self._is_full = False
        _wake(self._writer)

    # -- what `httpcore` calls

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Reads what has arrived, or waits for the first bytes; empty at the end."""
        if not self._received and not self._is_lost:
            self._reader = asyncio.get_running_loop().create_future()
            await _wait(self._reader, timeout, httpcore.ReadTimeout("no bytes arrived in time"))
        if not self._received:
            if self._error is not None:
                raise httpcore.ReadError(str(self._error)) from self._error
            return b""
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if self._is_paused and len(self._received) <= MOST_RECEIVED // 2:
            self._is_paused = False
            if not self._is_lost:
                self._open().resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Writes all bytes; some may still wait to be sent."""
        if buffer and not self._is_lost:
            self._open().write(buffer)
            if self._is_full:
                self._writer = asyncio.get_running_loop().create_future()
                await _wait(self._writer, timeout, httpcore.WriteTimeout("not sent in time"))
        if self._is_lost:
            error = self._error or ConnectionResetError("the connection is closed")
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        """Closes the connection."""
        self.abort()
        # The event loop closes the socket.
        await asyncio.sleep(0)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """The connection with encryption."""
        loop = asyncio.get_running_loop()
        try:
            self._transport = await loop.start_tls(
                self._open(),
                self,
                ssl_context,
                server_hostname=server_hostname,
                ssl_handshake_timeout=timeout,
            )
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError):
                raise httpcore.ConnectError(str(error)) from error
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        """Details of the connection."""
        if info == "is_readable":
            is_closing = self._is_lost or self._open().is_closing()
            return is_closing or bool(self._received) or self._has_arrived()
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return self._open().get_extra_info(names.get(info, info))

    # -- internals

    def abort(self) -> None:
        """Closes the connection, if it was opened."""
        if self._transport is not None:
            self._transport.abort()

    def _open(self) -> asyncio.Transport:
        assert self._transport is not None, "the connection is not open"
        return self._transport

    def _has_arrived(self) -> bool:
        """Whether the socket has bytes or its end, which the event loop has not yet noticed."""
        with Selector() as selector:
            selector.register(self._open().get_extra_info("socket"), selectors.EVENT_READ)
            return bool(selector.select(0))


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


async def _wait(waiter: asyncio.Future[None], timeout: float | None, error: Exception) -> None:
    """Waits until `_wake`. `asyncio.wait_for` ignores some cancellations before Python 3.12."""

    def expire() -> None:
        if not waiter.done():
            waiter.set_exception(error)

    timer = None if timeout is None else asyncio.get_running_loop().call_later(timeout, expire)
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()


class Backend(httpcore.AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: SocketOptions | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connects to a server."""
        stream = Stream()
        local = None if local_address is None else (local_address, 0)
        opening = asyncio.ensure_future(
            asyncio.get_running_loop().create_connection(
                lambda: stream, host, port, local_addr=local
            )
        )
        try:
            await asyncio.wait([opening], timeout=timeout)
            if not opening.done():
                raise httpcore.ConnectTimeout("the connection did not open in time")
            opening.result()
            socket = stream.get_extra_info("socket")
            for option in socket_options or ():
                socket.setsockopt(*option)
        except BaseException as error:
            opening.cancel()
            stream.abort()
            await asyncio.wait([opening])
            if isinstance(error, OSError):
                raise httpcore.ConnectError(str(error)) from error
            raise
        return stream


class _Body(httpx.AsyncByteStream):
    """The body of a response."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._response.aiter_stream():
            yield data

    async def aclose(self) -> None:
        await self._response.aclose()


class Transport(httpx.AsyncBaseTransport):
    """A transport of `httpx` with one connection.

    The pool of `httpx` looks at every pair of its connections when a request begins or ends, which
    takes milliseconds with 32 of them.
    """

    def __init__(
        self, verify: ssl.SSLContext | None, keepalive: float, socket_options: SocketOptions
    ) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=verify,
            max_connections=1,
            max_keepalive_connections=1,
            keepalive_expiry=keepalive,
            socket_options=socket_options,
            network_backend=Backend(),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request."""
        response = await self._pool.handle_async_request(raw_request(request))
        return built_response(response, _Body(response))

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._pool.aclose()
