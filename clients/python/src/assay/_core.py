"""The logic of the clients, without input and output: where to send requests, and when to retry.

Operations are generators. They yield commands, and are resumed with the outcomes; the two clients
only run the commands. So both retry in the same way.
"""

from __future__ import annotations

import logging
import os
import re
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Optional, TypeVar, Union

from assay._decoding import DecodeError, decode
from assay._items import Batch, Chunk
from assay._nodes import Node, Nodes, Wait
from assay._stream import LineReader
from assay.errors import (
    DeadlineExceededError,
    RequestRejectedError,
    ServerUnavailableError,
    UnexpectedReplyError,
)

T = TypeVar("T")
log = logging.getLogger("assay")

NDJSON = "application/x-ndjson"
# A probe delays a request, even if other servers are up.
PROBE_TIMEOUT = 1.0
# Seconds without bytes from a server after which the client checks that it is alive, and seconds
# for the reply. Grading may take longer, but a server that is grading replies to the check at once.
SILENCE = 10.0
SHORTEST_SILENCE = 0.1
HEALTH_TIMEOUT = 5.0
LONGEST_DEADLINE = 10.0 * 365 * 86400
# Replies to one request that cannot be read, after which a server is not an Assay server.
MOST_GARBLED = 5
# Connections that one request may lose, which bounds requests that crash the server.
MOST_LOST = 10


@dataclass(frozen=True)
class Settings:
    """Settings of a client."""

    urls: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    deadline: float | None = 3600.0
    server_timeout: float = 60.0
    connections: int = 32
    chunk_items: int = 65536
    chunk_bytes: int = 32 * 1024 * 1024
    compress_above: int | None = 65536


@dataclass(frozen=True)
class Request:
    """One HTTP request."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # Items in the request, for balancing.
    weight: int = 1
    # Whether a repetition on any server is harmless. Otherwise the request has an idempotency key,
    # which only the server that it was sent to knows, or must not be repeated.
    repeatable: bool = True
    keyed: bool = False
    # Whether the body is compressed on the way to another machine.
    compress: bool = False
    # Chooses the server, if the same request may have been sent before.
    sticky_key: str | None = None
    # Receives the bytes of a reply with status 200 as they arrive.
    sink: Callable[[bytes], None] | None = None


@dataclass(frozen=True)
class Send:
    """Command: send a request, and resume with a `Reply` or a `Broken`."""

    node: Node
    request: Request
    # Seconds until the deadline; none without one.
    timeout: float | None
    # Seconds without bytes after which the server must answer `health`; never if it is none.
    silence: float | None = None


@dataclass(frozen=True)
class Sleep:
    """Command: wait, and resume with `None`."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """A complete reply."""

    status: int
    body: bytes = b""
    retry_after: float | None = None


@dataclass(frozen=True)
class Broken:
    """There is no complete reply."""

    error: Exception
    # Whether the server may have accepted the request.
    may_be_sent: bool
    timed_out: bool = False

    @property
    def shows_life(self) -> bool:
        """Whether the server closed the connection, as it does with new ones at the limit."""
        return self.may_be_sent and not self.timed_out


Command = Union[Send, Sleep]
Outcome = Union[Reply, Broken, None]
# `Generator` is subscripted at run time here, where Python 3.9 needs the old forms.
Operation = Generator[Command, Optional[Outcome], T]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and how its reply is read."""

    request: Request
    read: Callable[[Any], T]


# Requests that do not wait for others to end.
PROBE = Request("GET", "/readyz")
HEALTH = Request("GET", "/healthz")


def health(node: Node, left: float | None) -> Send:
    """The request that a silent server must answer, with any status."""
    return Send(node, HEALTH, HEALTH_TIMEOUT if left is None else min(HEALTH_TIMEOUT, left))


class SilentServerError(OSError):
    """A server accepted a request, but answers neither the request nor `GET /healthz`."""

    def __init__(self, silence: float, cause: Exception) -> None:
        super().__init__(f"no answer for {silence:g} s, and none to `GET /healthz`: {cause}")


class Core:
    """What the clients share: settings, servers and operations."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        if settings.connections < 1 or settings.chunk_items < 1 or settings.chunk_bytes < 1:
            raise ValueError("`connections`, `chunk_items` and `chunk_bytes` must be at least 1")
        self.settings = settings
        self.clock = clock
        self.nodes = Nodes(settings.urls, clock)
        # Lowered when a server rejects a request as too large.
        self.chunk_items = settings.chunk_items
        self.chunk_bytes = settings.chunk_bytes

    def ends_at(self, deadline: float | None) -> float | None:
        """The time of the deadline of a call that starts now."""
        seconds = finite(self.settings.deadline if deadline is None else deadline)
        return None if seconds is None else self.clock() + seconds

    def left(self, ends_at: float | None) -> float | None:
        """Seconds until a deadline.

        Raises `DeadlineExceededError` if it has passed.
        """
        if ends_at is None:
            return None
        left = ends_at - self.clock()
        if left <= 0:
            raise DeadlineExceededError("the deadline of the call passed")
        return left

    def divide(self, batch: Batch, key: CallKey) -> list[Chunk]:
        """The requests of a call."""
        if key.is_given:
            # A repeated call must be divided in the same way.
            return batch.chunks(self.settings.chunk_items, self.settings.chunk_bytes)
        return batch.chunks(self.chunk_items, self.chunk_bytes)

    # -- operations

    def call(self, call: Call[T], ends_at: float | None, node: Node | None = None) -> Operation[T]:
        """Sends a request and reads its reply."""

        def read(reply: Reply) -> T:
            found = decode(reply.body)
            if not isinstance(found, dict):
                raise DecodeError("the body is not an object")
            return call.read(found)

        result = yield from self.exchange(call.request, read, ends_at, node)
        return result

    def call_any(self, call: Call[T], ends_at: float | None) -> Operation[T]:
        """Sends a request for a stored object to each server until one has it."""
        missing: RequestRejectedError | None = None
        for node in self.nodes.all:
            try:
                result = yield from self.call(call, ends_at, node)
            except RequestRejectedError as error:
                if error.status != 404:
                    raise
                missing = error
            else:
                return result
        assert missing is not None
        raise missing

    def grade(
        self, chunk: Chunk, key: CallKey, ends_at: float | None
    ) -> Operation[list[ChunkReply]]:
        """Grades a chunk, in several requests if it exceeds a limit of the server."""
        body = chunk.body()
        positions = chunk.positions()

        def read(reply: Reply) -> ChunkReply:
            found = decode(reply.body)
            results = found.get("results") if isinstance(found, dict) else None
            if not isinstance(results, list) or len(results) != len(positions):
                raise DecodeError(f"expected {len(positions)} results")
            for result in results:
                check_result(result)
            return ChunkReply(positions, found)

        request = self.grade_request(body, len(positions), key)
        try:
            reply = yield from self.exchange(request, read, ends_at)
        except RequestRejectedError as error:
            if error.status != 413:
                raise rebased(error, positions) from None
            replies: list[ChunkReply] = []
            for number, half in enumerate(self.halves(chunk, len(body), error)):
                replies += yield from self.grade(half, key.part(number), ends_at)
            return replies
        return [reply]

    def stream(
        self,
        chunk: Chunk,
        key: CallKey,
        ends_at: float | None,
        emit: Callable[[int | None, dict[str, Any]], None],
    ) -> Operation[None]:
        """Grades a chunk, and emits each result with its position, and every other line with
        `None`, once."""
        body = chunk.body()
        reading = _StreamedChunk(chunk, emit)
        request = self.grade_request(body, len(reading.positions), key, reading.feed)
        try:
            others = yield from self.exchange(request, reading.finish, ends_at, begin=reading.begin)
        except RequestRejectedError as error:
            if error.status != 413:
                raise rebased(error, reading.positions) from None
            for number, half in enumerate(self.halves(chunk, len(body), error)):
                yield from self.stream(half, key.part(number), ends_at, emit)
            return
        for line in others:
            if line["type"] == "warning":
                line["pointer"] = rebase(line["pointer"], reading.positions)
            emit(None, line)

    def halves(self, chunk: Chunk, size: int, error: RequestRejectedError) -> tuple[Chunk, Chunk]:
        """Two requests instead of one that is too large. Later ones are at most as large."""
        first, second = chunk.halves(error)
        if error.code == "too_many_items":
            self.chunk_items = min(self.chunk_items, max(len(first.positions()), 1))
        else:
            self.chunk_bytes = min(self.chunk_bytes, max(size // 2, 1))
        return first, second

    def grade_request(
        self, body: bytes, weight: int, key: CallKey, sink: Callable[[bytes], None] | None = None
    ) -> Request:
        """A request to grade a batch."""
        headers = {"content-type": "application/json", "idempotency-key": key.text}
        if sink is not None:
            headers["accept"] = NDJSON
        limit = self.settings.compress_above
        return Request(
            "POST",
            "/v1/grade",
            body=body,
            headers=headers,
            weight=weight,
            repeatable=False,
            keyed=True,
            compress=limit is not None and len(body) > limit,
            sticky_key=key.text if key.is_given else None,
            sink=sink,
        )

    # -- retries

    def exchange(
        self,
        request: Request,
        read: Callable[[Reply], T],
        ends_at: float | None,
        only: Node | None = None,
        begin: Callable[[], None] | None = None,
    ) -> Operation[T]:
        """Sends a request until there is a complete reply.

        A server that may have accepted a request with an idempotency key gets it again, because
        only that server knows whether it has graded the batch. Another server gets it if it was not
        accepted, or if the first does not come back within `server_timeout`. A server that neither
        answers nor is alive is treated as if its connection was lost.
        """
        silence = max(min(SILENCE, self.settings.server_timeout), SHORTEST_SILENCE)
        attempt = _Attempt(self, request, only)
        while True:
            left = attempt.left(ends_at)
            taken = self.nodes.take(request.weight, attempt.target)
            if isinstance(taken, Wait):
                if taken.is_down and attempt.check_server_timeout():
                    continue
                yield Sleep(taken.seconds if left is None else min(taken.seconds, left))
                continue
            node, must_probe = taken
            attempt.tries += 1
            if must_probe:
                yield from self._probe(node, left, attempt)
                continue
            if begin is not None:
                begin()
            try:
                outcome = yield Send(node, request, left, silence)
            finally:
                self.nodes.release(node, request.weight)
            try:
                if isinstance(outcome, Reply) and outcome.status == 200:
                    value = read(outcome)
                    self.nodes.mark_accepting(node)
                    return value
            except DecodeError as error:
                outcome = Broken(error, may_be_sent=True)
            if isinstance(outcome, Broken) and isinstance(outcome.error, DecodeError):
                attempt.garbled += 1
                if attempt.garbled >= MOST_GARBLED:
                    raise UnexpectedReplyError(f"{node.name}: {outcome.error}")
            assert outcome is not None
            attempt.settle(node, outcome, ends_at)

    def _probe(self, node: Node, left: float | None, attempt: _Attempt) -> Operation[None]:
        """Tries a server that was down."""
        timeout = PROBE_TIMEOUT if left is None else min(PROBE_TIMEOUT, left)
        try:
            outcome = yield Send(node, PROBE, timeout)
        finally:
            self.nodes.end_probe(node)
        # A node that is warming up grades already. What else answers may be a gateway that does not
        # forward the path.
        if isinstance(outcome, Reply) and (
            outcome.status not in (502, 503, 504) or problem(outcome)[0] == "starting"
        ):
            self.nodes.mark_up(node)
            attempt.failing_since = None
            return
        if isinstance(outcome, Broken):
            attempt.last = f"{node.name}: {outcome.error}"
        self.nodes.mark_down(node, attempt.last)


class _StreamedChunk:
    """The lines of a streamed reply, over its retries."""

    def __init__(self, chunk: Chunk, emit: Callable[[int | None, dict[str, Any]], None]) -> None:
        self.positions = chunk.positions()
        self._emit = emit
        ids = chunk.batch.ids
        self._by_id: dict[Any, int] = {ids[position]: position for position in self.positions}
        self._seen: set[int] = set()
        self.begin()

    def begin(self) -> None:
        """Forgets a reply that was cut off, except for the results that were emitted."""
        self._reader = LineReader()
        self._others: list[dict[str, Any]] = []

    def feed(self, data: bytes) -> None:
        """Reads bytes of the reply and emits new results."""
        for line in self._reader.feed(data):
            if line["type"] != "result":
                self._others.append(line)
                continue
            position = self._locate(line)
            if position not in self._seen:
                self._seen.add(position)
                self._emit(position, line)

    def finish(self, _: Reply) -> list[dict[str, Any]]:
        """Checks that the reply is complete, and returns its lines that are not results."""
        self._reader.finish()
        if len(self._seen) != len(self.positions):
            raise DecodeError(f"{len(self._seen)} results for {len(self.positions)} items")
        return self._others

    def _locate(self, line: dict[str, Any]) -> int:
        del line["type"]
        check_result(line)
        if "position" in line:
            position = line.pop("position")
            if type(position) is not int or not 0 <= position < len(self.positions):
                raise DecodeError(f"a result has the position {position!r}")
            return self.positions[position]
        name = line.get("id")
        if not isinstance(name, str) or name not in self._by_id:
            raise UnexpectedReplyError(
                "a result of the stream does not say which item it belongs to; give every item "
                "an `id`, and include `id` in `fields`"
            )
        return self._by_id[name]


class _Attempt:
    """The state of one request over its retries."""

    def __init__(self, core: Core, request: Request, only: Node | None) -> None:
        self.core, self.request, self.only = core, request, only
        # The server that may have accepted the request.
        self.pinned: Node | None = (
            None if request.sticky_key is None else core.nodes.preferred(request.sticky_key)
        )
        self.failing_since: float | None = None
        self.last = ""
        # Requests and probes that were sent.
        self.tries = 0
        self.garbled = 0
        self.lost = 0

    @property
    def target(self) -> Node | None:
        return self.pinned or self.only

    def left(self, ends_at: float | None) -> float | None:
        try:
            return self.core.left(ends_at)
        except DeadlineExceededError as error:
            raise DeadlineExceededError(with_cause(str(error), self.last)) from None

    def check_server_timeout(self) -> bool:
        """Gives up on servers that stay down. Returns whether another takes the request."""
        now = self.core.clock()
        nodes = [self.target] if self.target else self.core.nodes.all
        if self.failing_since is None:
            self.last = self.last or nodes[0].failure
        since = self._begin_failing(nodes)
        server_timeout = self.core.settings.server_timeout
        if self.pinned is not None and self.pinned.is_down:
            # Later requests do not wait again for a server that stays down.
            since = min(since, self.pinned.down_since)
        if now - since < server_timeout:
            return False
        tried_at = max(node.tried_at for node in nodes)
        if server_timeout > 0 and tried_at < since + server_timeout / 2:
            # The process or its event loop was suspended for long, so the servers had no chance.
            return False
        if self.pinned is not None and self.only is None and len(self.core.nodes.all) > 1:
            log.warning(
                "%s stays down, and may have accepted a batch; another server grades it, so "
                "both records may contain its grades",
                self.pinned.name,
            )
            self.pinned, self.failing_since = None, now
            return True
        urls = ", ".join(node.name for node in nodes)
        tried = with_cause(
            f"{urls}: not available for {now - since:.3g} s (attempts: {self.tries})", self.last
        )
        raise ServerUnavailableError(
            f"{tried}; check the URL and the log of the server, or increase `server_timeout` of "
            f"the client, which is {server_timeout:g} s"
        )

    def settle(self, node: Node, outcome: Reply | Broken, ends_at: float | None) -> None:
        """Decides whether the request is sent again, and where. Raises if it is not."""
        nodes = self.core.nodes
        if isinstance(outcome, Broken):
            self.last = f"{node.name}: {outcome.error or type(outcome.error).__name__}"
            if outcome.timed_out and ends_at is not None and self.core.clock() >= ends_at:
                return
            nodes.mark_down(node, self.last)
            self._fail(node, outcome.may_be_sent)
            return
        code, message, pointer, request_id = problem(outcome)
        self.last = f"{node.name}: {outcome.status} {message}"
        if outcome.status == 429:
            nodes.mark_busy(node, outcome.retry_after)
            log.info("%s is overloaded", node.name)
        elif code == "store_unavailable" and self.request.repeatable:
            # A node without a record never gets one, and readers of the record can try again.
            nodes.mark_up(node)
            raise RequestRejectedError(message, outcome.status, code, pointer, request_id)
        elif outcome.status == 503 and code is not None:
            # The node rejected the request before it accepted it.
            self._fail(node, may_be_sent=False)
            if code == "shutting_down":
                nodes.mark_down(node, self.last)
            else:
                nodes.mark_busy(node, outcome.retry_after)
                self.check_server_timeout()
        elif outcome.status in (502, 503, 504):
            # A gateway answers, and does not say whether the node has the request.
            nodes.mark_down(node, self.last)
            self._fail(node, may_be_sent=outcome.status != 503 or not self.request.repeatable)
        elif code is None:
            raise UnexpectedReplyError(
                f"{node.name} returned {outcome.status} with an unexpected body; check that the "
                "URL is that of an Assay server"
            )
        else:
            nodes.mark_up(node)
            raise RequestRejectedError(message, outcome.status, code, pointer, request_id)

    def _begin_failing(self, nodes: Sequence[Node]) -> float:
        """The time since which the request has been failing. Logs the first failure."""
        if self.failing_since is None:
            self.failing_since = self.core.clock()
            # Not for each of many requests.
            if any([self.core.nodes.must_report(node) for node in nodes]):
                log.warning(
                    "a request failed and is sent again for up to %g s: %s; `server_timeout` of "
                    "the client sets how long",
                    self.core.settings.server_timeout,
                    self.last,
                )
        return self.failing_since

    def _fail(self, node: Node, may_be_sent: bool) -> None:
        self.lost += may_be_sent
        if self.lost >= MOST_LOST:
            raise ServerUnavailableError(
                f"the connection was lost {self.lost} times: {self.last}; if the log of the server "
                "says that it crashed, report the items"
            )
        must_stay = may_be_sent and not self.request.repeatable
        if must_stay and not self.request.keyed:
            raise ServerUnavailableError(
                f"the connection was lost, and the request may have been processed: {self.last}"
            )
        self._begin_failing([node])
        if must_stay:
            self.pinned = self.pinned or node


@dataclass(frozen=True)
class ChunkReply:
    """The reply to one request, with the positions of its items in the batch."""

    positions: Sequence[int]
    body: dict[str, Any]


def with_cause(message: str, failure: str) -> str:
    """A message with the last failure, if there was one."""
    return f"{message}; the last failure: {failure}" if failure else message


def problem(reply: Reply) -> tuple[str | None, str, str | None, str | None]:
    """Code, message, pointer and request id of an error; no code if it is not one of Assay."""
    try:
        body = decode(reply.body)
        error = body["error"]
        pointer = error["pointer"]
        return (
            printable(str(error["code"])),
            printable(str(error["message"])),
            None if pointer is None else printable(str(pointer)),
            body["request_id"],
        )
    except (DecodeError, KeyError, TypeError):
        return None, printable(reply.body[:200].decode("utf-8", "replace")), None, None


def printable(text: str) -> str:
    """A text of a server with its control characters escaped, which would act on a terminal or
    break lines of a log."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def check_result(result: Any) -> None:
    """Checks that the values that are used as numbers are numbers."""
    if not isinstance(result, dict):
        raise DecodeError("a result is not an object")
    for name in ("reward", "advantage"):
        value = result.get(name)
        if value is not None and type(value) is not float and type(value) is not int:
            raise DecodeError(f"the {name} `{value!r}` is not a number")


def rebase(pointer: str, positions: Sequence[int]) -> str:
    """A pointer into the items of a request as a pointer into those of the batch."""
    parts = pointer.split("/")
    if len(parts) > 2 and parts[1] == "items" and parts[2].isdigit():
        position = int(parts[2])
        if position < len(positions):
            parts[2] = str(positions[position])
    return "/".join(parts)


def rebased(error: RequestRejectedError, positions: Sequence[int]) -> RequestRejectedError:
    """An error with its pointer into the items of the batch."""
    pointer = None if error.pointer is None else rebase(error.pointer, positions)
    return RequestRejectedError(error.message, error.status, error.code, pointer, error.request_id)


def finite(deadline: float | None) -> float | None:
    """A deadline; `None` if it is infinite."""
    if deadline is None or deadline == float("inf"):
        return None
    if deadline != deadline:
        raise ValueError("a deadline must be a number")
    # Longer times are not representable everywhere.
    return min(deadline, LONGEST_DEADLINE)


@dataclass(frozen=True)
class CallKey:
    """The idempotency key of a call or of a part of it."""

    text: str
    # Whether the caller gave it, and may give it again.
    is_given: bool

    @classmethod
    def of(cls, given: str | None) -> CallKey:
        """The caller's key, or one that no other call uses, even in a forked process."""
        if given is None:
            return cls(f"py-{os.getpid()}-{uuid.uuid4().hex}", False)
        # Requests of a call add their numbers.
        if not re.fullmatch(r"[!-~]{1,200}", given):
            raise ValueError("`idempotency_key` must have 1 to 200 visible ASCII characters")
        return cls(given, True)

    def part(self, number: int) -> CallKey:
        """The key of a part of the call."""
        return CallKey(f"{self.text}-{number}", self.is_given)

    def of_chunk(self, number: int, count: int) -> CallKey:
        """The key of one of the requests of the call."""
        return self if count == 1 else self.part(number)
