"""Carries out commands with asyncio."""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

import httpx

from assay import _http
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
)
from assay._threaded import check, send_alone

T = TypeVar("T")


class LoopState:
    """The state of one event loop. Its connections cannot be used in another."""

    def __init__(self, core: Core) -> None:
        self.slots = asyncio.Semaphore(core.settings.connections)
        self.headers = core.settings.headers
        self.verify = _http.tls(core.settings.urls)
        # Clients with a connection that no request uses, by server.
        self._idle: dict[str, list[httpx.AsyncClient]] = {}
        self._is_closed = False

    def take(self, url: str) -> httpx.AsyncClient:
        """A client with a connection to a server, or with none yet."""
        idle = self._idle.get(url)
        return idle.pop() if idle else _http.async_client(self.headers, self.verify)

    async def give_back(self, url: str, client: httpx.AsyncClient) -> None:
        """Keeps the connection of a request that has ended."""
        if self._is_closed:
            await client.aclose()
        else:
            self._idle.setdefault(url, []).append(client)

    async def close(self) -> None:
        """Closes the connections; those in use are closed when their requests end."""
        self._is_closed = True
        for clients in self._idle.values():
            for client in clients:
                await client.aclose()
        self._idle.clear()


class ByLoop(Generic[T]):
    """One value for each event loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: dict[asyncio.AbstractEventLoop, T] = {}

    def get(self) -> T:
        """The value of the event loop that runs."""
        loop = asyncio.get_running_loop()
        if loop not in self._values:
            # The values refer to their event loops, so weak references would not free them.
            self._values = {
                other: value for other, value in self._values.items() if not other.is_closed()
            }
            self._values[loop] = self._make()
        return self._values[loop]

    def pop(self) -> T | None:
        """Removes the value of the event loop that runs, and returns it."""
        return self._values.pop(asyncio.get_running_loop(), None)


class AsyncTransport:
    """A pool of connections for each event loop."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._begin()
        _TRANSPORTS.add(self)

    def _begin(self) -> None:
        self._loops: ByLoop[LoopState] = ByLoop(lambda: LoopState(self._core))

    def after_fork(self) -> None:
        """Leaves the connections of the parent to the parent."""
        self._begin()
        self._core.nodes.after_fork()

    async def close(self) -> None:
        """Closes the connections of this event loop; a later call opens new ones."""
        state = self._loops.pop()
        if state is not None:
            await state.close()

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

    async def _perform(self, command: Command) -> Outcome:
        if isinstance(command, Sleep):
            await asyncio.sleep(command.seconds)
            return None
        state = self._loops.get()
        if command.request is PROBE:
            # In a thread, because other code may block the event loop for longer than its timeout.
            return await asyncio.to_thread(send_alone, state.headers, state.verify, command)
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
        client = state.take(send.node.url)
        try:
            outcome = await asyncio.wait_for(self._watch(state, client, send), timeout)
        except _http.UNSENDABLE:
            await client.aclose()
            raise
        except _http.LOST as error:
            outcome = _http.broken(error)
        except asyncio.TimeoutError:
            # Before Python 3.11, this is not the built-in `TimeoutError`.
            outcome = _http.broken(TimeoutError("the reply was not complete in time"))
        except BaseException:
            await client.aclose()
            raise
        if isinstance(outcome, Broken):
            await client.aclose()
        else:
            await state.give_back(send.node.url, client)
        return outcome

    async def _watch(self, state: LoopState, client: httpx.AsyncClient, send: Send) -> Outcome:
        """Waits for a reply while the server is alive."""
        if send.silence is None:
            return await self._exchange(client, send)
        task = asyncio.ensure_future(self._exchange(client, send))
        try:
            while True:
                done, _ = await asyncio.wait([task], timeout=send.silence)
                if done:
                    return task.result()
                try:
                    # In a thread, because other code may block the event loop for long.
                    await asyncio.to_thread(
                        check, state.headers, state.verify, send.node, send.silence, None
                    )
                except SilentServerError:
                    if not task.done():
                        raise
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def _exchange(self, client: httpx.AsyncClient, send: Send) -> Outcome:
        response = await client.send(_http.build(client, send), stream=True)
        try:
            receiver = _http.Receiver(send, response)
            async for data in response.aiter_raw():
                if not receiver.feed(data):
                    break
        finally:
            await response.aclose()
        return receiver.reply()


_TRANSPORTS: weakref.WeakSet[AsyncTransport] = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_TRANSPORTS):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
