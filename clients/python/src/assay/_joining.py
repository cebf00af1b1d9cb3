"""Sends many small calls of one event loop together.

A call whose items have no group, no policy and no statistics has the same results in a larger
batch: each of its items is a group of one, which has no baseline. Calls are joined only while all
connections are in use, or while they start at the same moment, so a call never waits to be joined.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from assay._core import ChunkReply, Core, rebase
from assay._items import Batch
from assay.errors import RequestRejectedError, UnexpectedReplyError
from assay.results import Results

# Items of one request: with more, the first results would wait long for the last.
MOST_ITEMS = 256
MOST_BYTES = 4 * 1024 * 1024
# Only calls with few items are joined.
SMALL_CALL = 16

Send = Callable[[Batch, "float | None"], Awaitable[list[ChunkReply]]]


def can_join(batch: Batch) -> bool:
    """Whether a batch has the same results when it is joined with others."""
    options = batch.options
    fields = options.fields
    return (
        len(batch) <= SMALL_CALL
        and not batch.has_groups
        and not batch.has_policies
        and options.policy is None
        and not options.statistics
        and not options.shared
        # The channels of a call are found by those of its results.
        and (fields is None or "channels" not in fields or "channel" in fields)
    )


class Waiting:
    """A call that waits for its results."""

    def __init__(self, batch: Batch, ends_at: float | None) -> None:
        self.batch = batch
        self.ends_at = ends_at
        self.results: asyncio.Future[Results] = asyncio.get_running_loop().create_future()


class Joiner:
    """The calls of one event loop that wait for a connection."""

    def __init__(self, send: Send, core: Core) -> None:
        self._send = send
        self._core = core
        self._connections = core.settings.connections
        # Calls that can be joined with each other, by what they have in common. Those with other
        # types of tasks are apart, because fast graders would wait for slow ones.
        self._waiting: dict[tuple[str, frozenset[Any]], deque[Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def grade(self, batch: Batch, ends_at: float | None) -> Results:
        """Results of a call."""
        call = Waiting(batch, ends_at)
        self._waiting.setdefault((batch.options.head(), batch.types), deque()).append(call)
        if len(self._tasks) < self._connections:
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await call.results

    async def _work(self) -> None:
        while self._waiting:
            calls = self._take()
            try:
                if len(calls) == 1:
                    await self._alone(calls[0])
                elif calls:
                    await self._together(calls)
            except BaseException as error:
                # Whatever happens, no call waits forever.
                for call in calls:
                    _fail(call, error)
                if not isinstance(error, Exception):
                    raise

    def _take(self) -> list[Waiting]:
        """The next calls, a fair share of those that wait."""
        common, queue = next(iter(self._waiting.items()))
        share = min(math.ceil(len(queue) / self._connections), MOST_ITEMS)
        most_items = min(MOST_ITEMS, self._core.chunk_items)
        most_bytes = min(MOST_BYTES, self._core.chunk_bytes)
        taken: list[Waiting] = []
        ids: set[str] = set()
        count = size = 0
        while queue and len(taken) < share:
            call = queue[0]
            if call.results.done():
                queue.popleft()
                continue
            names = [name for name in call.batch.ids if name is not None]
            count += len(call.batch)
            size += len(call.batch.text)
            if taken and (count > most_items or size > most_bytes or not ids.isdisjoint(names)):
                break
            ids.update(names)
            taken.append(queue.popleft())
        # The next worker begins with the calls that waited longest beside these.
        del self._waiting[common]
        if queue:
            self._waiting[common] = queue
        return taken

    async def _alone(self, call: Waiting) -> None:
        replies = await self._send(call.batch, call.ends_at)
        if not call.results.done():
            call.results.set_result(Results.of(len(call.batch), replies))

    async def _together(self, calls: list[Waiting]) -> None:
        batch = Batch.join([call.batch for call in calls])
        ends = [call.ends_at for call in calls]
        ends_at = None if None in ends else max(end for end in ends if end is not None)
        try:
            replies = await self._send(batch, ends_at)
        except RequestRejectedError:
            # An invalid item rejects the batch, but not the other calls.
            await asyncio.gather(*(self._separately(call) for call in calls))
            return
        try:
            divided = divide(replies, [call.batch for call in calls])
        except (AttributeError, KeyError, TypeError) as error:
            raise UnexpectedReplyError(f"the reply to a batch is not valid: {error}") from error
        for call, results in zip(calls, divided):
            if not call.results.done():
                call.results.set_result(results)

    async def _separately(self, call: Waiting) -> None:
        try:
            await self._alone(call)
        except Exception as error:
            _fail(call, error)


def _fail(call: Waiting, error: BaseException) -> None:
    if call.results.done():
        return
    if isinstance(error, asyncio.CancelledError):
        # The event loop is closing.
        call.results.cancel()
    else:
        call.results.set_exception(error)


def divide(replies: list[ChunkReply], batches: list[Batch]) -> list[Results]:
    """The results of each of the joined calls."""
    merged = Results.of(sum(map(len, batches)), replies)
    # A batch that exceeds a limit of the server was sent in several requests.
    names = {
        position: reply.body["batch"]
        for reply in replies
        if "batch" in reply.body
        for position in reply.positions
    }
    warnings: dict[int, list[dict[str, Any]]] = {}
    for warning in merged.warnings:
        parts = warning.pointer.split("/")
        if len(parts) > 2 and parts[1] == "items" and parts[2].isdigit():
            warnings.setdefault(int(parts[2]), []).append(warning.to_dict())
    groups = [group.to_dict() for group in merged.groups]
    channels = [channel.to_dict() for channel in merged.channels]
    divided = []
    first = 0
    for batch in batches:
        last = first + len(batch)
        results = merged.to_dicts()[first:last]
        used = {result.get("channel") for result in results}
        # Positions in the joined batch become positions in the call.
        positions = [position - first for position in range(last)]
        divided.append(
            Results(
                results,
                # Each item is a group of one.
                groups[first:last],
                [channel for channel in channels if channel["channel"] in used],
                [
                    {**warning, "pointer": rebase(warning["pointer"], positions)}
                    for position in range(first, last)
                    for warning in warnings.get(position, [])
                ],
                list(
                    dict.fromkeys(
                        names[position] for position in range(first, last) if position in names
                    )
                ),
            )
        )
        first = last
    return divided
