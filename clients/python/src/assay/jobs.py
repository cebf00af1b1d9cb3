"""Jobs: data sets that the service grades in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

from assay import _calls, models
from assay._core import Call, CallKey, Core, Operation, Reply, Request
from assay._decoding import DecodeError, decode
from assay._items import encode
from assay._progress import Progress, reporter
from assay.errors import RequestRejectedError

if TYPE_CHECKING:
    from assay._asyncio import AsyncTransport
    from assay._threaded import Transport

T = TypeVar("T")

# Results that are read at once.
PAGE = 10_000

# Seconds between two looks at a job.
POLL = 0.5

ENDED = frozenset({"done", "cancelled"})


@dataclass(frozen=True)
class _Page(Generic[T]):
    results: list[T]
    # Where the next page begins; none at the end.
    after: int | None


def _pages(result: Callable[[Any], T]) -> Callable[[Reply], _Page[T]]:
    """Reads pages whose lines are made by `result`."""

    def page(reply: Reply) -> _Page[T]:
        lines = [decode(line) for line in reply.body.splitlines()]
        last = lines.pop() if lines else None
        if not isinstance(last, dict) or last.get("type") != "page":
            raise DecodeError(f"the results are incomplete: {last}")
        return _Page([result(line) for line in lines], last["next"])

    return page


def _replayed(line: Any) -> models.Replay | models.MissingReplay:
    return models.Replay(line) if "replayed" in line else models.MissingReplay(line)


def _parameter(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Calls:
    """What the two kinds of `Jobs` send."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _submit(
        self,
        items: Iterable[Mapping[str, Any]],
        run: str | None,
        step: int | None,
        policy: str | None,
        idempotency_key: str | None,
        deadline: float | None,
    ) -> Operation[models.Job]:
        body = b"".join(encode(dict(item)) + b"\n" for item in items)
        key = CallKey.of(idempotency_key)
        limit = self._core.settings.compress_above
        given = (("run", run), ("step", step), ("policy", policy))
        request = Request(
            "POST",
            "/v1/jobs",
            query=tuple((name, str(value)) for name, value in given if value is not None),
            body=body,
            headers={"content-type": "application/x-ndjson", "idempotency-key": key.text},
            repeatable=False,
            keyed=True,
            compress=limit is not None and len(body) > limit,
            sticky_key=key.text if key.is_given else None,
        )
        return self._core.call(Call(request, models.Job), self._core.ends_at(deadline))

    def _replay(
        self,
        filters: Mapping[str, Any],
        options: Mapping[str, Any] | None,
        idempotency_key: str | None,
        deadline: float | None,
    ) -> Operation[models.Job]:
        key = CallKey.of(idempotency_key)
        given = ((name, _parameter(value)) for name, value in filters.items() if value is not None)
        request = Request(
            "POST",
            "/v1/jobs/replay",
            query=tuple(given),
            body=encode({"options": dict(options or {})}),
            headers={"content-type": "application/json", "idempotency-key": key.text},
            repeatable=False,
            keyed=True,
            sticky_key=key.text if key.is_given else None,
        )
        return self._core.call(Call(request, models.Job), self._core.ends_at(deadline))

    def _recent(self, limit: int, deadline: float | None) -> Operation[models.Jobs]:
        request = Request("GET", "/v1/jobs", query=(("limit", str(limit)),))
        return self._core.call(Call(request, models.Jobs), self._core.ends_at(deadline))

    def _get(self, job: str, ends_at: float | None) -> Operation[models.Job]:
        request = Request("GET", f"/v1/jobs/{_calls.segment(job)}")
        return self._core.call_any(Call(request, models.Job), ends_at)

    def _cancel(self, job: str, deadline: float | None) -> Operation[models.Job]:
        request = Request("DELETE", f"/v1/jobs/{_calls.segment(job)}")
        return self._core.call_any(Call(request, models.Job), self._core.ends_at(deadline))

    def _results(
        self, job: str, after: int, ends_at: float | None, result: Callable[[Any], T]
    ) -> Operation[_Page[T]]:
        path = f"/v1/jobs/{_calls.segment(job)}/results"
        query = (("after", str(after)), ("limit", str(PAGE)))
        return self._any(Request("GET", path, query=query), _pages(result), ends_at)

    def _any(
        self, request: Request, read: Callable[[Reply], T], ends_at: float | None
    ) -> Operation[T]:
        """Sends a request to each server until one has the job."""
        missing: RequestRejectedError | None = None
        for node in self._core.nodes.all:
            try:
                result = yield from self._core.exchange(request, read, ends_at, node)
            except RequestRejectedError as error:
                if error.status != 404:
                    raise
                missing = error
            else:
                return result
        assert missing is not None
        raise missing


class Jobs(_Calls):
    """The jobs of the servers of a client: `Client.jobs`."""

    def __init__(self, core: Core, transport: Transport) -> None:
        super().__init__(core)
        self._transport = transport

    def submit(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        run: str | None = None,
        step: int | None = None,
        policy: str | None = None,
        deadline: float | None = None,
        idempotency_key: str | None = None,
    ) -> models.Job:
        """Submits items, which a server grades in the background.

        - `items`: as in `Client.grade`; the items of a group must follow each other.
        - `run`, `step`, `policy`: as in `POST /v1/jobs`; `policy` is a name.
        - `deadline`: seconds; that of the client by default.
        - `idempotency_key`: a call with the key and the items of an earlier call returns the same
          job.
        """
        return self._transport.run(
            self._submit(items, run, step, policy, idempotency_key, deadline)
        )

    def replay(
        self,
        *,
        options: Mapping[str, Any] | None = None,
        deadline: float | None = None,
        idempotency_key: str | None = None,
        **filters: Any,
    ) -> models.Job:
        """Submits a replay of recorded grades, which a server grades again in the background.

        - `options`: fields to set in every task.
        - `filters`: the parameters of `GET /v1/grades` that select the grades, such as `run`.
        - `deadline`: seconds; that of the client by default.
        - `idempotency_key`: a call with the key, the filters and the options of an earlier call
          returns the same job.

        `replay` of the ended job has the verdicts by stored verdict; `replays` reads the results.
        """
        return self._transport.run(self._replay(filters, options, idempotency_key, deadline))

    def recent(self, *, limit: int = 100, deadline: float | None = None) -> list[models.Job]:
        """The newest jobs of a server."""
        return self._transport.run(self._recent(limit, deadline)).jobs

    def get(self, job: str, *, deadline: float | None = None) -> models.Job:
        """The state and the progress of a job, by its id."""
        return self._transport.run(self._get(job, self._core.ends_at(deadline)))

    def cancel(self, job: str, *, deadline: float | None = None) -> models.Job:
        """Cancels a job. Results that exist are kept."""
        return self._transport.run(self._cancel(job, deadline))

    def wait(
        self, job: str, *, deadline: float | None = None, progress: Progress | None = None
    ) -> models.Job:
        """Waits until a job has ended.

        - `deadline`: seconds; that of the client by default.
        - `progress`: as in `Client.grade`.
        """
        ends_at, report = self._core.ends_at(deadline), reporter(progress)
        while True:
            found = self._transport.run(self._get(job, ends_at))
            report(found.finished, found.items)
            if found.state in ENDED:
                return found
            self._core.left(ends_at)
            time.sleep(POLL)

    def results(
        self, job: str, *, follow: bool = True, deadline: float | None = None
    ) -> Iterator[models.Result]:
        """The results of a job, in the order of its items.

        A result without a grade has `ungradable` or `failed` as its `outcome`, and an `error`.

        - `follow`: whether to wait for results until the job has ended.
        - `deadline`: seconds; that of the client by default.
        """
        return self._read(job, follow, deadline, models.Result)

    def replays(
        self, job: str, *, follow: bool = True, deadline: float | None = None
    ) -> Iterator[models.Replay | models.MissingReplay]:
        """The results of a replay, the newest grade first.

        Parameters as of `results`. Replays have no evidence.
        """
        return self._read(job, follow, deadline, _replayed)

    def _read(
        self, job: str, follow: bool, deadline: float | None, result: Callable[[Any], T]
    ) -> Iterator[T]:
        ends_at, after = self._core.ends_at(deadline), 0
        while True:
            page = self._transport.run(self._results(job, after, ends_at, result))
            yield from page.results
            if page.after is None or not (page.results or follow):
                return
            if not page.results:
                self._core.left(ends_at)
                time.sleep(POLL)
            after = page.after


class AsyncJobs(_Calls):
    """`Jobs` for asyncio: `AsyncClient.jobs`."""

    def __init__(self, core: Core, transport: AsyncTransport) -> None:
        super().__init__(core)
        self._transport = transport

    async def submit(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        run: str | None = None,
        step: int | None = None,
        policy: str | None = None,
        deadline: float | None = None,
        idempotency_key: str | None = None,
    ) -> models.Job:
        """As `Jobs.submit`."""
        return await self._transport.run(
            self._submit(items, run, step, policy, idempotency_key, deadline)
        )

    async def replay(
        self,
        *,
        options: Mapping[str, Any] | None = None,
        deadline: float | None = None,
        idempotency_key: str | None = None,
        **filters: Any,
    ) -> models.Job:
        """As `Jobs.replay`."""
        return await self._transport.run(self._replay(filters, options, idempotency_key, deadline))

    async def recent(self, *, limit: int = 100, deadline: float | None = None) -> list[models.Job]:
        """As `Jobs.recent`."""
        return (await self._transport.run(self._recent(limit, deadline))).jobs

    async def get(self, job: str, *, deadline: float | None = None) -> models.Job:
        """As `Jobs.get`."""
        return await self._transport.run(self._get(job, self._core.ends_at(deadline)))

    async def cancel(self, job: str, *, deadline: float | None = None) -> models.Job:
        """As `Jobs.cancel`."""
        return await self._transport.run(self._cancel(job, deadline))

    async def wait(
        self, job: str, *, deadline: float | None = None, progress: Progress | None = None
    ) -> models.Job:
        """As `Jobs.wait`."""
        ends_at, report = self._core.ends_at(deadline), reporter(progress)
        while True:
            found = await self._transport.run(self._get(job, ends_at))
            report(found.finished, found.items)
            if found.state in ENDED:
                return found
            self._core.left(ends_at)
            await asyncio.sleep(POLL)

    def results(
        self, job: str, *, follow: bool = True, deadline: float | None = None
    ) -> AsyncIterator[models.Result]:
        """As `Jobs.results`, for `async for`."""
        return self._read(job, follow, deadline, models.Result)

    def replays(
        self, job: str, *, follow: bool = True, deadline: float | None = None
    ) -> AsyncIterator[models.Replay | models.MissingReplay]:
        """As `Jobs.replays`, for `async for`."""
        return self._read(job, follow, deadline, _replayed)

    async def _read(
        self, job: str, follow: bool, deadline: float | None, result: Callable[[Any], T]
    ) -> AsyncIterator[T]:
        ends_at, after = self._core.ends_at(deadline), 0
        while True:
            page = await self._transport.run(self._results(job, after, ends_at, result))
            for line in page.results:
                yield line
            if page.after is None or not (page.results or follow):
                return
            if not page.results:
                self._core.left(ends_at)
                await asyncio.sleep(POLL)
            after = page.after
