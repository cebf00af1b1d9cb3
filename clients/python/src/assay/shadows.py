"""Shadows of runs: what other fields in the tasks of a run would change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay import _calls, models
from assay._core import Call, Core, Operation, Request
from assay._items import encode

if TYPE_CHECKING:
    from assay._asyncio import AsyncTransport
    from assay._threaded import Transport


class _Calls:
    """What the two kinds of `Shadows` send."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _start(
        self,
        run: str,
        options: Mapping[str, Any],
        share: float,
        from_start: bool,
        deadline: float | None,
    ) -> Operation[models.Shadow]:
        body = {"options": dict(options), "share": share, "from_start": from_start}
        request = Request(
            "POST",
            _path(run),
            body=encode(body),
            headers={"content-type": "application/json"},
            repeatable=False,
        )
        return self._core.call(Call(request, models.Shadow), self._core.ends_at(deadline))

    def _send(self, method: str, path: str, deadline: float | None) -> Operation[models.Shadow]:
        """Sends a request about a shadow to each server until one has it."""
        call = Call(Request(method, path), models.Shadow)
        return self._core.call_any(call, self._core.ends_at(deadline))


def _path(run: str) -> str:
    return f"/v1/runs/{_calls.segment(run)}/shadow"


def _promotion(run: str) -> str:
    return f"{_path(run)}/promotion"


class Shadows(_Calls):
    """The shadows of the runs of a client: `Client.shadows`."""

    def __init__(self, core: Core, transport: Transport) -> None:
        super().__init__(core)
        self._transport = transport

    def start(
        self,
        run: str,
        options: Mapping[str, Any],
        *,
        share: float = 0.1,
        from_start: bool = False,
        deadline: float | None = None,
    ) -> models.Shadow:
        """Starts a shadow: a share of the run is graded again as it is recorded.

        Rewards do not change. A run has at most one open shadow.

        - `options`: fields to set in every task.
        - `share`: share of the grades, above 0 and at most 1.
        - `from_start`: whether grades that are recorded already are graded too.
        - `deadline`: seconds; that of the client by default.
        """
        return self._transport.run(self._start(run, options, share, from_start, deadline))

    def get(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """The newest shadow of a run, with what it found."""
        return self._transport.run(self._send("GET", _path(run), deadline))

    def end(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """Ends the shadow of a run. What it found is kept."""
        return self._transport.run(self._send("DELETE", _path(run), deadline))

    def promote(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """Sets the fields of the newest shadow in the tasks of the run, and ends the shadow."""
        return self._transport.run(self._send("POST", _promotion(run), deadline))

    def withdraw(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """Sets the promoted fields no longer."""
        return self._transport.run(self._send("DELETE", _promotion(run), deadline))


class AsyncShadows(_Calls):
    """`Shadows` for asyncio: `AsyncClient.shadows`."""

    def __init__(self, core: Core, transport: AsyncTransport) -> None:
        super().__init__(core)
        self._transport = transport

    async def start(
        self,
        run: str,
        options: Mapping[str, Any],
        *,
        share: float = 0.1,
        from_start: bool = False,
        deadline: float | None = None,
    ) -> models.Shadow:
        """As `Shadows.start`."""
        return await self._transport.run(self._start(run, options, share, from_start, deadline))

    async def get(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """As `Shadows.get`."""
        return await self._transport.run(self._send("GET", _path(run), deadline))

    async def end(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """As `Shadows.end`."""
        return await self._transport.run(self._send("DELETE", _path(run), deadline))

    async def promote(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """As `Shadows.promote`."""
        return await self._transport.run(self._send("POST", _promotion(run), deadline))

    async def withdraw(self, run: str, *, deadline: float | None = None) -> models.Shadow:
        """As `Shadows.withdraw`."""
        return await self._transport.run(self._send("DELETE", _promotion(run), deadline))
