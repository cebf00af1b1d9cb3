"""Carries out commands with asyncio."""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from typing import TypeVar

import httpx

from assay import _http
from assay._core import PROBE, Broken, Command, Core, Operation, Outcome, Send, Sleep
from assay._stream import StreamError
from assay._threaded import SPARE_CONNECTIONS

T = TypeVar("T")


class LoopState:
    """What belongs to one event loop: connections cannot be used in another."""

    def __init__(self, core: Core) -> None:
        settings = core.settings
        self.slots = asyncio.Semaphore(settings.connections)
        transport = httpx.AsyncHTTPTransport(
            limits=_http.limits(settings.connections + SPARE_CONNECTIONS),
            socket_options=_http.SOCKET_OPTIONS,
        )
        self.client = httpx.AsyncClient(
            transport=transport,
            mounts={pattern: transport for pattern in _http.LOOPBACK},
            headers=dict(settings.headers),
        )


class AsyncTransport:
    """A pool of connections for each event loop."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._begin()
        _TRANSPORTS.add(self)

    def _begin(self) -> None:
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopState] = (
            weakref.WeakKeyDictionary()
        )

    def after_fork(self) -> None:
        """Leaves the connections of the parent to the parent."""
        self._begin()
        self._core.nodes.after_fork()

    async def close(self) -> None:
        """Closes the connections of this event loop; a later call opens new ones."""
        state = self._loops.pop(asyncio.get_running_loop(), None)
        if state is not None:
            await state.client.aclose()

    async def run(self, operation: Operation[T]) -> T:
        """Runs an operation to its end."""
        try:
            command = next(operation)
            while True:
                command = operation.send(await self._perform(command))
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            operation.close()

    def _state(self) -> LoopState:
        loop = asyncio.get_running_loop()
        state = self._loops.get(loop)
        if state is None:
            state = self._loops[loop] = LoopState(self._core)
        return state

    async def _perform(self, command: Command) -> Outcome:
        if isinstance(command, Sleep):
            await asyncio.sleep(command.seconds)
            return None
        state = self._state()
        if command.request is PROBE:
            return await self._send(state, command, command.timeout)
        began = time.monotonic()
        try:
            await asyncio.wait_for(state.slots.acquire(), command.timeout)
        except asyncio.TimeoutError:
            return Broken(TimeoutError("waited for a connection"), False, timed_out=True)
        try:
            left = command.timeout
            if left is not None:
                left = max(left - (time.monotonic() - began), 0.001)
            return await self._send(state, command, left)
        finally:
            state.slots.release()

    async def _send(self, state: LoopState, send: Send, timeout: float | None) -> Outcome:
        try:
            return await asyncio.wait_for(self._exchange(state.client, send), timeout)
        except (httpx.HTTPError, httpx.StreamError, OSError, StreamError) as error:
            return _http.broken(error)
        except asyncio.TimeoutError:
            # Until Python 3.11 not the `TimeoutError` of the language.
            return _http.broken(TimeoutError("the reply was not complete in time"))

    async def _exchange(self, client: httpx.AsyncClient, send: Send) -> Outcome:
        sink = send.request.sink
        response = await client.send(_http.build(client, send), stream=True)
        try:
            parts = []
            async for data in response.aiter_bytes():
                if sink is not None and response.status_code == 200:
                    sink(data)
                else:
                    parts.append(data)
        finally:
            await response.aclose()
        return _http.reply(response.status_code, response.headers, b"".join(parts))


_TRANSPORTS: weakref.WeakSet[AsyncTransport] = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_TRANSPORTS):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
