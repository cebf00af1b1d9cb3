"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from assay import _calls
from assay._asyncio import AsyncTransport, ByLoop
from assay._commands import run_check
from assay._core import Call, CallKey, ChunkReply, Core, with_cause
from assay._export import Format, to_table
from assay._items import Batch, Chunk, Options
from assay._joining import Joiner, can_join
from assay._nodes import Node
from assay._options import settings
from assay._progress import Progress, Report, reporter
from assay.client import StreamLines
from assay.errors import AssayError, DeadlineExceededError
from assay.jobs import AsyncJobs
from assay.models import (
    BatchWarning,
    Channel,
    Channels,
    Check,
    CheckDetail,
    CheckReport,
    Grade,
    GradeDetail,
    Graders,
    Group,
    Policies,
    Receipt,
    Replay,
    Result,
    RewardModels,
    RunDetail,
    Runs,
    ScoreReply,
    Suggestions,
)
from assay.results import Results
from assay.sessions import AsyncSession, opening
from assay.shadows import AsyncShadows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.models import GradeFilters, SessionLog, SessionReplay

T = TypeVar("T")


class AsyncClient:
    """`Client` for asyncio, with the same arguments and methods.

    Any number of calls can be awaited at the same time: at most `connections` requests are sent at
    once. Small calls without groups, policy and statistics that wait at the same time are sent in
    one request, with the same results. `join=False` sends each call in its own request.
    """

    def __init__(
        self,
        urls: str | Iterable[str] = "http://127.0.0.1:8080",
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: float | None = 3600.0,
        server_timeout: float = 60.0,
        connections: int = 32,
        chunk_items: int = 65536,
        chunk_bytes: int = 32 * 1024 * 1024,
        compress_above: int | None = 65536,
        join: bool = True,
    ) -> None:
        self._core = Core(
            settings(
                urls,
                key=key,
                headers=headers,
                deadline=deadline,
                server_timeout=server_timeout,
                connections=connections,
                chunk_items=chunk_items,
                chunk_bytes=chunk_bytes,
                compress_above=compress_above,
            )
        )
        self._transport = AsyncTransport(self._core)
        self._join = join
        self._joiners: ByLoop[Joiner] = ByLoop(lambda: Joiner(self._send_joined, self._core))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections of this event loop."""
        await self._transport.close()

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of the servers."""
        return tuple(node.url for node in self._core.nodes.all)

    @property
    def jobs(self) -> AsyncJobs:
        """As `Client.jobs`."""
        return AsyncJobs(self._core, self._transport)

    @property
    def shadows(self) -> AsyncShadows:
        """As `Client.shadows`."""
        return AsyncShadows(self._core, self._transport)

    # -- grading

    async def grade(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        run: str | None = None,
        step: int | None = None,
        policy: str | Mapping[str, Any] | None = None,
        statistics: Iterable[str] = (),
        fields: Iterable[str] | None = None,
        shared: Mapping[str, Any] | None = None,
        deadline: float | None = None,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
    ) -> Results:
        """As `Client.grade`."""
        batch = Batch.encode(items, Options.of(run, step, policy, statistics, fields, shared))
        ends_at, report = self._core.ends_at(deadline), reporter(progress)
        if self._join and idempotency_key is None and can_join(batch):
            results = await self._in_time(self._joiners.get().grade(batch, ends_at), ends_at)
        else:
            key = CallKey.of(idempotency_key)
            results = Results.of(len(batch), await self._replies(batch, key, ends_at, report))
        report(len(batch), len(batch))
        return results

    async def _replies(
        self, batch: Batch, key: CallKey, ends_at: float | None, report: Report
    ) -> list[ChunkReply]:
        chunks = self._core.divide(batch, key)
        done = 0

        async def grade(number: int) -> list[ChunkReply]:
            nonlocal done
            chunk_key = key.of_chunk(number, len(chunks))
            found = await self._transport.run(self._core.grade(chunks[number], chunk_key, ends_at))
            done += sum(len(reply.positions) for reply in found)
            if len(chunks) > 1 and done < len(batch):
                report(done, len(batch))
            return found

        parts = await _gather([grade(number) for number in range(len(chunks))])
        return [reply for part in parts for reply in part]

    async def _send_joined(self, batch: Batch, ends_at: float | None) -> list[ChunkReply]:
        return await self._replies(batch, CallKey.of(None), ends_at, reporter(None))

    async def _in_time(self, call: Any, ends_at: float | None) -> Results:
        left = self._core.left(ends_at)
        try:
            results: Results = await asyncio.wait_for(call, left)
        except asyncio.TimeoutError as error:
            if isinstance(error, DeadlineExceededError):
                raise
            message = with_cause("the deadline of the call passed", self._core.nodes.failures())
            raise DeadlineExceededError(message) from None
        return results

    def grade_stream(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        run: str | None = None,
        step: int | None = None,
        policy: str | Mapping[str, Any] | None = None,
        statistics: Iterable[str] = (),
        fields: Iterable[str] | None = None,
        shared: Mapping[str, Any] | None = None,
        deadline: float | None = None,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncGradeStream:
        """As `Client.grade_stream`, for `async for`."""
        batch = Batch.encode(items, Options.of(run, step, policy, statistics, fields, shared))
        key = CallKey.of(idempotency_key)
        chunks = self._core.divide(batch, key)
        ends_at = self._core.ends_at(deadline)
        return AsyncGradeStream(
            self._core, self._transport, len(batch), chunks, key, ends_at, reporter(progress)
        )

    # -- the record

    async def grades(
        self,
        *,
        limit: int | None = None,
        deadline: float | None = None,
        **filters: Unpack[GradeFilters],
    ) -> AsyncIterator[Grade]:
        """As `Client.grades`, for `async for`."""
        ends_at = self._core.ends_at(deadline)
        page = _calls.page(limit)
        pages = [
            _Pages(self._transport, self._core, node, filters, page, ends_at)
            for node in self._core.nodes.all
        ]
        count, last = 0, None
        while limit is None or count < limit:
            heads = [head for head in [await one.head() for one in pages] if head is not None]
            if not heads:
                return
            grade, newest = max(heads, key=lambda head: head[0].grade)
            newest.advance()
            if grade.grade != last:
                last = grade.grade
                count += 1
                yield grade

    async def get(self, grade: str, *, deadline: float | None = None) -> GradeDetail:
        """As `Client.get`."""
        return await self._call_any(_calls.grade(grade), deadline)

    async def receipt(self, grade: str, *, deadline: float | None = None) -> Receipt:
        """As `Client.receipt`."""
        return await self._call_any(_calls.receipt(grade), deadline)

    async def replay(self, grade: str, *, deadline: float | None = None) -> Replay:
        """As `Client.replay`."""
        return await self._call_any(_calls.replay(grade), deadline)

    async def export(
        self,
        format: Format = "pandas",
        *,
        limit: int | None = None,
        deadline: float | None = None,
        **filters: Unpack[GradeFilters],
    ) -> Any:
        """As `Client.export`."""
        grades = self.grades(limit=limit, deadline=deadline, **filters)
        return to_table(format, [grade.to_dict() async for grade in grades])

    async def runs(self, *, deadline: float | None = None) -> Runs:
        """As `Client.runs`."""
        return await self._call(_calls.runs(), deadline)

    async def run(
        self, name: str, *, steps: int | None = None, deadline: float | None = None
    ) -> RunDetail:
        """As `Client.run`."""
        return await self._call_any(_calls.run(name, steps), deadline)

    # -- error rates, policies, prompts and models

    async def graders(self, *, deadline: float | None = None) -> Graders:
        """As `Client.graders`."""
        return await self._call(_calls.graders(), deadline)

    async def channels(
        self, after: str | None = None, *, deadline: float | None = None
    ) -> Channels:
        """As `Client.channels`."""
        return await self._call(_calls.channels(after), deadline)

    async def policies(self, *, deadline: float | None = None) -> Policies:
        """As `Client.policies`."""
        return await self._call(_calls.policies(), deadline)

    async def suggest(
        self, run: str, *, deadline: float | None = None, **options: Any
    ) -> Suggestions:
        """As `Client.suggest`."""
        return await self._call(_calls.suggest(run, options), deadline)

    async def reward_models(self, *, deadline: float | None = None) -> RewardModels:
        """As `Client.reward_models`."""
        return await self._call(_calls.reward_models(), deadline)

    async def score(
        self,
        model: str,
        items: Sequence[Mapping[str, Any]],
        *,
        deadline: float | None = None,
        **options: Any,
    ) -> ScoreReply:
        """As `Client.score`."""
        return await self._call(_calls.score(model, items, options), deadline)

    # -- interpreter sessions

    def session(
        self,
        language: str,
        *,
        name: str | None = None,
        image: str | None = None,
        seed: int = 0,
        files: Mapping[str, str | bytes] | None = None,
        limits: Mapping[str, Any] | None = None,
        idle_seconds: int | None = None,
        deadline: float | None = None,
    ) -> AsyncSession:
        """As `Client.session`."""
        body = opening(language, name, image, seed, files, limits, idle_seconds)
        return AsyncSession(self._core, self._transport, deadline, body)

    async def replay_session(
        self, log: SessionLog | Mapping[str, Any], *, deadline: float | None = None
    ) -> SessionReplay:
        """As `Client.replay_session`."""
        return await self._call(_calls.replay_session(log), deadline)

    # -- checks of datasets

    async def check(
        self,
        *datasets: str | os.PathLike[str],
        deadline: float | None = None,
        **options: Any,
    ) -> CheckReport:
        """As `Client.check`."""

        def run() -> CheckReport:
            return run_check(datasets, deadline=deadline, **options)

        report = await asyncio.get_running_loop().run_in_executor(None, run)
        await self._call(_calls.record_check(report), deadline)
        return report

    async def checks(self, *, limit: int = 100, deadline: float | None = None) -> list[Check]:
        """As `Client.checks`."""
        return (await self._call(_calls.checks(None, limit), deadline)).checks

    async def get_check(self, check: str, *, deadline: float | None = None) -> CheckDetail:
        """As `Client.get_check`."""
        return await self._call_any(_calls.check(check), deadline)

    # -- internals

    async def _call(self, call: Call[T], deadline: float | None) -> T:
        return await self._transport.run(self._core.call(call, self._core.ends_at(deadline)))

    async def _call_any(self, call: Call[T], deadline: float | None) -> T:
        return await self._transport.run(self._core.call_any(call, self._core.ends_at(deadline)))


class _Pages:
    """The pages of one server."""

    def __init__(
        self,
        transport: AsyncTransport,
        core: Core,
        node: Node,
        filters: Mapping[str, Any],
        page: int,
        ends_at: float | None,
    ) -> None:
        self._read: Callable[[str | None], Any] = lambda before: transport.run(
            core.call(_calls.grades(filters, before, page), ends_at, node)
        )
        self._grades: list[Grade] = []
        self._before: str | None = None
        self._is_last = False

    async def head(self) -> tuple[Grade, _Pages] | None:
        """The newest grade that is left; none at the end."""
        while not self._grades and not self._is_last:
            found = await self._read(self._before)
            # The newest is last, where removing it is cheap.
            self._grades = found.grades[::-1]
            self._before = found.next
            self._is_last = found.next is None
        return (self._grades[-1], self) if self._grades else None

    def advance(self) -> None:
        """Goes on to the next grade."""
        self._grades.pop()


async def _gather(calls: Sequence[Any]) -> list[Any]:
    """The results of calls. The first error cancels the others."""
    if len(calls) == 1:
        return [await calls[0]]
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


class AsyncGradeStream:
    """Results of a batch as they finish: an asynchronous iterator over `(position, result)`.

    The lists of groups, channels and warnings are complete when the iteration has ended. An `async
    with` block, or `close`, ends the requests of an iteration that is not continued.
    """

    def __init__(
        self,
        core: Core,
        transport: AsyncTransport,
        total: int,
        chunks: Sequence[Chunk],
        key: CallKey,
        ends_at: float | None,
        report: Report,
    ) -> None:
        self.groups: list[Group] = []
        self.channels: list[Channel] = []
        self.warnings: list[BatchWarning] = []
        self.batches: list[str] = []
        self._lines = StreamLines(self)
        self._task: asyncio.Future[Any] | None = None
        self._is_closed = False
        self._results = self._read(core, transport, total, chunks, key, ends_at, report)

    def __aiter__(self) -> AsyncIterator[tuple[int, Result]]:
        return self._results

    async def __anext__(self) -> tuple[int, Result]:
        return await self._results.__anext__()

    async def __aenter__(self) -> AsyncGradeStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the requests. The server still grades what it has accepted."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()

    async def _read(
        self,
        core: Core,
        transport: AsyncTransport,
        total: int,
        chunks: Sequence[Chunk],
        key: CallKey,
        ends_at: float | None,
        report: Report,
    ) -> AsyncIterator[tuple[int, Result]]:
        lines: asyncio.Queue[tuple[int | None, dict[str, Any] | None]] = asyncio.Queue()

        def emit(position: int | None, line: dict[str, Any]) -> None:
            lines.put_nowait((position, line))

        async def grade() -> None:
            try:
                await _gather(
                    [
                        transport.run(
                            core.stream(chunk, key.of_chunk(number, len(chunks)), ends_at, emit)
                        )
                        for number, chunk in enumerate(chunks)
                    ]
                )
            finally:
                lines.put_nowait((None, None))

        if self._is_closed:
            raise AssayError("the stream was closed")
        task = self._task = asyncio.ensure_future(grade())
        done = 0
        try:
            while True:
                position, line = await lines.get()
                if line is None:
                    if self._is_closed:
                        raise AssayError("the stream was closed")
                    break
                if position is None:
                    self._lines.add(line)
                    continue
                done += 1
                report(done, total)
                yield position, Result(line)
            await task
        finally:
            task.cancel()
