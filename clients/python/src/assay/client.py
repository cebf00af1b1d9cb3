"""The synchronous client."""

from __future__ import annotations

import heapq
import itertools
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from assay import _calls
from assay._commands import run_check
from assay._core import Call, CallKey, ChunkReply, Core
from assay._export import Format, to_table
from assay._items import Batch, Chunk, Options
from assay._nodes import Node
from assay._options import settings
from assay._progress import Progress, Report, reporter
from assay._threaded import Transport
from assay._workers import Workers
from assay.jobs import Jobs
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
from assay.sessions import Session, opening
from assay.shadows import Shadows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.models import GradeFilters, SessionLog, SessionReplay

T = TypeVar("T")


class Client:
    """A client of one or more servers. Threads can share it, and so can forked processes.

    - `urls`: one URL, or several servers among which requests are balanced.
    - `key`: sent as a bearer token; by default the variable `ASSAY_KEY`, if it is set. `headers`:
      further headers of all requests.
    - `deadline`: seconds after which a call gives up, unless the call has its own deadline;
      `None` for never.
    - `server_timeout`: seconds for which a server that cannot be reached, or that hangs, is
      retried.
    - `connections`: maximum number of concurrent requests; further calls wait.
    - `chunk_items`, `chunk_bytes`: a larger batch is sent in several requests.
    - `compress_above`: larger bodies, in bytes, are compressed with zstd if the server is on
      another machine; `None` for never.
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
        self._transport = Transport(self._core)
        # A client that is not used any more closes its connections.
        weakref.finalize(self, self._transport.close)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of the servers."""
        return tuple(node.url for node in self._core.nodes.all)

    @property
    def jobs(self) -> Jobs:
        """Data sets that the servers grade in the background."""
        return Jobs(self._core, self._transport)

    @property
    def shadows(self) -> Shadows:
        """What other fields in the tasks of runs would change."""
        return Shadows(self._core, self._transport)

    # -- grading

    def grade(
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
        """Grades a batch and returns its results in the order of the items.

        - `items`: as in `items` of `POST /v1/grade`: mappings with `completion`, `task` and more.
        - `run`, `step`, `policy`, `statistics`: as in `POST /v1/grade`.
        - `fields`: keys that each result contains, which shortens the reply; all by default. The
          names `groups` and `channels` include these lists.
        - `shared`: values by name, which tasks refer to by `{"$shared": name}`.
        - `deadline`: seconds; that of the client by default.
        - `progress`: `True` for a bar on standard error, or a function that is called with the
          number of finished items and the total. It advances when a request of the batch is done.
        - `idempotency_key`: a call with the key and the items of an earlier call returns the
          reply to that call, for a day. The key selects one of several servers. By default each
          call has a new key.
        """
        key = CallKey.of(idempotency_key)
        batch, chunks = self._divide(items, run, step, policy, statistics, fields, shared, key)
        ends_at, report = self._core.ends_at(deadline), reporter(progress)

        def grade(number: int) -> list[ChunkReply]:
            chunk_key = key.of_chunk(number, len(chunks))
            return self._transport.run(self._core.grade(chunks[number], chunk_key, ends_at))

        if len(chunks) == 1:
            replies = grade(0)
            report(len(batch), len(batch))
            return Results.of(len(batch), replies)

        def post(number: int) -> None:
            workers.post((number, grade(number)))

        parts: list[list[ChunkReply]] = [[] for _ in chunks]
        workers = Workers(post, len(chunks), self._core.settings.connections)
        workers.start()
        done = 0
        for number, part in workers.events():
            parts[number] = part
            done += sum(len(reply.positions) for reply in part)
            report(done, len(batch))
        return Results.of(len(batch), [reply for part in parts for reply in part])

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
    ) -> GradeStream:
        """Grades a batch and returns an iterator over `(position, result)` in the order in which
        items finish. Results of a stream have no `advantage`, which needs the whole group.

        The arguments are those of `grade`. The iteration raises an error if the stream is cut off
        and cannot be resumed, so after its end every item has had its result.
        """
        key = CallKey.of(idempotency_key)
        batch, chunks = self._divide(items, run, step, policy, statistics, fields, shared, key)
        ends_at = self._core.ends_at(deadline)
        return GradeStream(
            self._core, self._transport, len(batch), chunks, key, ends_at, reporter(progress)
        )

    def _divide(
        self,
        items: Iterable[Mapping[str, Any]],
        run: str | None,
        step: int | None,
        policy: str | Mapping[str, Any] | None,
        statistics: Iterable[str],
        fields: Iterable[str] | None,
        shared: Mapping[str, Any] | None,
        key: CallKey,
    ) -> tuple[Batch, list[Chunk]]:
        options = Options.of(run, step, policy, statistics, fields, shared)
        batch = Batch.encode(items, options)
        return batch, self._core.divide(batch, key)

    # -- the record

    def grades(
        self,
        *,
        limit: int | None = None,
        deadline: float | None = None,
        **filters: Unpack[GradeFilters],
    ) -> Iterator[Grade]:
        """Recorded grades, newest first, at most `limit`; `filters` are the fields of
        `models.GradeFilters`.

        Pages are read as needed. The records of several servers are merged, and a grade
        in the record of several is returned once.
        """
        ends_at = self._core.ends_at(deadline)
        # Checks the filters now rather than when the first grade is read.
        _calls.grades(filters, None, 1)
        page = _calls.page(limit)

        def listed(node: Node) -> Iterator[Grade]:
            before: str | None = None
            while True:
                call = _calls.grades(filters, before, page)
                found = self._transport.run(self._core.call(call, ends_at, node))
                yield from found.grades
                before = found.next
                if before is None:
                    return

        def merged() -> Iterator[Grade]:
            lists = [listed(node) for node in self._core.nodes.all]
            last = None
            for grade in heapq.merge(*lists, key=lambda grade: grade.grade, reverse=True):
                if grade.grade != last:
                    yield grade
                last = grade.grade

        return itertools.islice(merged(), limit)

    def get(self, grade: str, *, deadline: float | None = None) -> GradeDetail:
        """One recorded grade with its task, prompt, completion and policy."""
        return self._call_any(_calls.grade(grade), deadline)

    def receipt(self, grade: str, *, deadline: float | None = None) -> Receipt:
        """The signed receipt of a recorded grade, which `assay verify-receipt` checks.

        The command reads `json.dumps(receipt.to_dict())`.
        """
        return self._call_any(_calls.receipt(grade), deadline)

    def replay(self, grade: str, *, deadline: float | None = None) -> Replay:
        """Grades a recorded item again, and compares the results. The new grade is not recorded."""
        return self._call_any(_calls.replay(grade), deadline)

    def export(
        self,
        format: Format = "pandas",
        *,
        limit: int | None = None,
        deadline: float | None = None,
        **filters: Unpack[GradeFilters],
    ) -> Any:
        """Recorded grades as a table of `pandas`, `pyarrow` or `polars`, newest first.

        The columns are the fields of a grade. Objects and lists are JSON text, and times are UTC.
        """
        grades = self.grades(limit=limit, deadline=deadline, **filters)
        return to_table(format, (grade.to_dict() for grade in grades))

    def runs(self, *, deadline: float | None = None) -> Runs:
        """The runs in the record of a server, with their totals."""
        return self._call(_calls.runs(), deadline)

    def run(
        self, name: str, *, steps: int | None = None, deadline: float | None = None
    ) -> RunDetail:
        """Totals of one run by grader, and by step for its highest `steps` steps."""
        return self._call_any(_calls.run(name, steps), deadline)

    # -- error rates, policies, prompts and models

    def graders(self, *, deadline: float | None = None) -> Graders:
        """The graders of a server, with task schemas and examples."""
        return self._call(_calls.graders(), deadline)

    def channels(self, after: str | None = None, *, deadline: float | None = None) -> Channels:
        """Error rates of the channels of a server, up to 1,000; pass `next` as `after` for more."""
        return self._call(_calls.channels(after), deadline)

    def policies(self, *, deadline: float | None = None) -> Policies:
        """The reward policies of a server."""
        return self._call(_calls.policies(), deadline)

    def suggest(self, run: str, *, deadline: float | None = None, **options: Any) -> Suggestions:
        """The prompts of a run to sample next; `options` are the fields of
        `POST /v1/prompts/suggest`."""
        return self._call(_calls.suggest(run, options), deadline)

    def reward_models(self, *, deadline: float | None = None) -> RewardModels:
        """The reward models of a server."""
        return self._call(_calls.reward_models(), deadline)

    def score(
        self,
        model: str,
        items: Sequence[Mapping[str, Any]],
        *,
        deadline: float | None = None,
        **options: Any,
    ) -> ScoreReply:
        """Scores inputs with a reward model; `options` are the fields of
        `POST /v1/reward-models/{name}/score`."""
        return self._call(_calls.score(model, items, options), deadline)

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
    ) -> Session:
        """An interpreter session, which a `with` block opens and ends.

        - `language`: such as `python`. `image`: such as `python-scientific`.
        - `name`: of the session. If it is open, its calls continue; then close it yourself.
        - `seed`: of all random numbers. `files`: that exist at the first call, as text or bytes.
        - `limits`: as in `POST /v1/sessions`, such as `{"seconds": 5, "total_seconds": 60}`.
        - `idle_seconds`: seconds without a call after which the server ends it.
        - `deadline`: seconds for each of its requests; that of the client by default.

        All its calls go to one of the servers, chosen at random.
        """
        body = opening(language, name, image, seed, files, limits, idle_seconds)
        return Session(self._core, self._transport, deadline, body)

    def replay_session(
        self, log: SessionLog | Mapping[str, Any], *, deadline: float | None = None
    ) -> SessionReplay:
        """Runs the calls of a session's log again, and compares their outputs with the log."""
        return self._call(_calls.replay_session(log), deadline)

    # -- checks of datasets

    def check(
        self,
        *datasets: str | os.PathLike[str],
        deadline: float | None = None,
        **options: Any,
    ) -> CheckReport:
        """Checks datasets with the binary on this machine, and stores the report on a server.

        `options` are the keyword arguments of `assay.check`.
        """
        report = run_check(datasets, deadline=deadline, **options)
        self._call(_calls.record_check(report), deadline)
        return report

    def checks(self, *, limit: int = 100, deadline: float | None = None) -> list[Check]:
        """Stored checks of datasets, newest first."""
        return self._call(_calls.checks(None, limit), deadline).checks

    def get_check(self, check: str, *, deadline: float | None = None) -> CheckDetail:
        """One stored check of datasets with its report."""
        return self._call_any(_calls.check(check), deadline)

    # -- internals

    def _call(self, call: Call[T], deadline: float | None) -> T:
        return self._transport.run(self._core.call(call, self._core.ends_at(deadline)))

    def _call_any(self, call: Call[T], deadline: float | None) -> T:
        return self._transport.run(self._core.call_any(call, self._core.ends_at(deadline)))


class GradeStream:
    """Results of a batch as they finish: an iterator over `(position, result)`.

    The lists of groups, channels and warnings are complete when the iteration has ended. To stop
    early, leave a `with` block or call `close`, which ends the requests.
    """

    def __init__(
        self,
        core: Core,
        transport: Transport,
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

        def grade(number: int) -> None:
            chunk_key = key.of_chunk(number, len(chunks))
            transport.run(core.stream(chunks[number], chunk_key, ends_at, emit))

        def emit(position: int | None, line: dict[str, Any]) -> None:
            self._workers.post((position, line))

        self._lines = StreamLines(self)
        self._results = self._read(total, report)
        self._workers = Workers(grade, len(chunks), core.settings.connections)
        self._workers.start()

    def __iter__(self) -> Iterator[tuple[int, Result]]:
        return self._results

    def __next__(self) -> tuple[int, Result]:
        return next(self._results)

    def __enter__(self) -> GradeStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the requests. The server still grades what it has accepted."""
        self._workers.stop()

    def _read(self, total: int, report: Report) -> Iterator[tuple[int, Result]]:
        done = 0
        for position, line in self._workers.events():
            if position is None:
                self._lines.add(line)
                continue
            done += 1
            report(done, total)
            yield position, Result(line)


class StreamLines:
    """Adds the lines of a stream that are not results to the lists of its iterator."""

    def __init__(self, into: Any) -> None:
        self._into = into
        self._channels: set[str] = set()

    def add(self, line: dict[str, Any]) -> None:
        """Adds a line."""
        kind = line["type"]
        fields = {name: value for name, value in line.items() if name != "type"}
        if kind == "group":
            self._into.groups.append(Group(fields))
        elif kind == "channel" and fields["channel"] not in self._channels:
            self._channels.add(fields["channel"])
            self._into.channels.append(Channel(fields))
        elif kind == "warning":
            self._into.warnings.append(BatchWarning(fields))
        elif kind == "end":
            self._into.batches.append(fields["batch"])
