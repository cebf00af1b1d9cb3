"""Interpreter sessions: code of a rollout that runs with the names of earlier calls."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Union

from assay import _calls, models
from assay._core import Call, Core, Operation, Reply, Request
from assay._nodes import Node
from assay.errors import AssayError, RequestRejectedError

if TYPE_CHECKING:
    from assay._asyncio import AsyncTransport
    from assay._threaded import Transport

T = TypeVar("T")

FileContent = Union[str, bytes]


def encoded(files: Mapping[str, FileContent] | None) -> dict[str, Any]:
    """Files as requests have them."""
    return {
        path: content
        if isinstance(content, str)
        else {"base64": base64.b64encode(content).decode("ascii")}
        for path, content in (files or {}).items()
    }


def _body(reply: Reply) -> bytes:
    return reply.body


class _Calls:
    """What the two kinds of sessions send. All calls go to the server that has the session."""

    def __init__(self, core: Core, deadline: float | None, opening: dict[str, Any]) -> None:
        self._core = core
        self._deadline = deadline
        self._opening = opening
        self._node: Node = random.choice(core.nodes.all)
        self._id: str | None = None

    @property
    def id(self) -> str:
        """Its id."""
        if self._id is None:
            raise AssayError("the session is not open; use it in a `with` block, or call `open`")
        return self._id

    def _send(self, call: Call[T], deadline: float | None) -> Operation[T]:
        ends_at = self._core.ends_at(self._deadline if deadline is None else deadline)
        return self._core.call(call, ends_at, self._node)

    def _path(self, rest: str = "") -> str:
        return f"/v1/sessions/{self.id}{rest}"

    def _open(self) -> Operation[models.Session]:
        request = _calls.post("/v1/sessions", self._opening, repeatable=False)
        return self._send(Call(request, models.Session), None)

    def _run(
        self,
        code: str,
        stdin: str,
        files: Mapping[str, FileContent] | None,
        fetch: Iterable[str],
        seconds: float | None,
        deadline: float | None,
    ) -> Operation[models.CallReply]:
        body = {
            "code": code,
            "stdin": stdin,
            "files": encoded(files),
            "fetch": list(fetch),
            "seconds": seconds,
        }
        # The code would run twice.
        request = _calls.post(self._path("/run"), body, repeatable=False)
        return self._send(Call(request, models.CallReply), deadline)

    def _fork(self, count: int) -> Operation[models.Forks]:
        request = _calls.post(self._path("/fork"), {"count": count}, repeatable=False)
        return self._send(Call(request, models.Forks), None)

    def _file(self, path: str) -> Operation[bytes]:
        request = Request("GET", self._path(f"/files/{_calls.segment(path)}"))
        ends_at = self._core.ends_at(self._deadline)
        return self._core.exchange(request, _body, ends_at, self._node)

    def _describe(self) -> Operation[models.Session]:
        return self._send(Call(Request("GET", self._path()), models.Session), None)

    def _log(self) -> Operation[models.SessionLog]:
        return self._send(Call(Request("GET", self._path("/log")), models.SessionLog), None)

    def _end(self) -> Operation[models.Ended]:
        request = Request("DELETE", self._path(), repeatable=False)
        return self._send(Call(request, models.Ended), None)


def _check(log: models.SessionLog) -> dict[str, Any]:
    """A task that runs the calls of a log again."""
    return {"type": "session", **log.to_dict()}


def opening(
    language: str,
    name: str | None,
    image: str | None,
    seed: int,
    files: Mapping[str, FileContent] | None,
    limits: Mapping[str, Any] | None,
    idle_seconds: int | None,
) -> dict[str, Any]:
    """The body of the request that opens a session."""
    return {
        "language": language,
        "name": name,
        "image": image,
        "seed": seed,
        "files": encoded(files),
        "limits": dict(limits or {}),
        "idle_seconds": idle_seconds,
    }


class Session(_Calls):
    """An interpreter session, made by `Client.session`. A `with` block ends it.

    Threads can share it: its calls run one after another.
    """

    def __init__(
        self, core: Core, transport: Transport, deadline: float | None, opening: dict[str, Any]
    ) -> None:
        super().__init__(core, deadline, opening)
        self._transport = transport

    def __enter__(self) -> Session:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> Session:
        """Opens the session on a server, unless it is open."""
        if self._id is None:
            self._id = self._transport.run(self._open()).id
        return self

    def run(
        self,
        code: str,
        *,
        stdin: str = "",
        files: Mapping[str, FileContent] | None = None,
        fetch: Iterable[str] = (),
        seconds: float | None = None,
        deadline: float | None = None,
    ) -> models.CallReply:
        """Runs code, and returns its outputs, how it ended, and what the session may still use.

        - `stdin`: what the code reads from standard input.
        - `files`: files to write before, as text or bytes. `fetch`: paths of files to return.
        - `seconds`: limit on the work of this call.
        - `deadline`: seconds; that of the session by default.

        Raises `RequestRejectedError` with the code `session_exhausted` if a budget is used up. An
        exception of the code is part of the reply.
        """
        return self._transport.run(self._run(code, stdin, files, fetch, seconds, deadline))

    def fork(self, count: int = 1) -> list[Session]:
        """Sessions that continue from the state of this one. Close them as well."""
        forks = self._transport.run(self._fork(count)).sessions
        return [self._adopt(fork.id) for fork in forks]

    def _adopt(self, id: str) -> Session:
        fork = Session(self._core, self._transport, self._deadline, self._opening)
        fork._node, fork._id = self._node, id
        return fork

    def file(self, path: str) -> bytes:
        """The bytes of a file of the session. Not a call."""
        return self._transport.run(self._file(path))

    def describe(self) -> models.Session:
        """Its limits, what it may still use, and where its state is."""
        return self._transport.run(self._describe())

    def log(self) -> models.SessionLog:
        """Its log, with which `Client.replay_session` runs its calls again."""
        return self._transport.run(self._log())

    def check(self) -> dict[str, Any]:
        """Its log as a check of an item, which runs the calls again on any server."""
        return _check(self.log())

    def close(self) -> None:
        """Ends the session. One that has ended already is not an error."""
        if self._id is None:
            return
        try:
            self._transport.run(self._end())
        except RequestRejectedError as error:
            if error.status != 404:
                raise
        self._id = None


class AsyncSession(_Calls):
    """`Session` for asyncio, made by `AsyncClient.session`. An `async with` block opens and ends
    it."""

    def __init__(
        self,
        core: Core,
        transport: AsyncTransport,
        deadline: float | None,
        opening: dict[str, Any],
    ) -> None:
        super().__init__(core, deadline, opening)
        self._transport = transport

    async def __aenter__(self) -> AsyncSession:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self) -> AsyncSession:
        """Opens the session on a server, unless it is open."""
        if self._id is None:
            self._id = (await self._transport.run(self._open())).id
        return self

    async def run(
        self,
        code: str,
        *,
        stdin: str = "",
        files: Mapping[str, FileContent] | None = None,
        fetch: Iterable[str] = (),
        seconds: float | None = None,
        deadline: float | None = None,
    ) -> models.CallReply:
        """As `Session.run`."""
        return await self._transport.run(self._run(code, stdin, files, fetch, seconds, deadline))

    async def fork(self, count: int = 1) -> list[AsyncSession]:
        """As `Session.fork`."""
        forks = (await self._transport.run(self._fork(count))).sessions
        return [self._adopt(fork.id) for fork in forks]

    def _adopt(self, id: str) -> AsyncSession:
        fork = AsyncSession(self._core, self._transport, self._deadline, self._opening)
        fork._node, fork._id = self._node, id
        return fork

    async def file(self, path: str) -> bytes:
        """As `Session.file`."""
        return await self._transport.run(self._file(path))

    async def describe(self) -> models.Session:
        """As `Session.describe`."""
        return await self._transport.run(self._describe())

    async def log(self) -> models.SessionLog:
        """As `Session.log`."""
        return await self._transport.run(self._log())

    async def check(self) -> dict[str, Any]:
        """As `Session.check`."""
        return _check(await self.log())

    async def close(self) -> None:
        """As `Session.close`."""
        if self._id is None:
            return
        try:
            await self._transport.run(self._end())
        except RequestRejectedError as error:
            if error.status != 404:
                raise
        self._id = None
