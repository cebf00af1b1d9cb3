"""Runs calls of adapters, and closes the connections that they leave open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import assay


def closing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """A function that runs an asynchronous call in a loop of its own. Trainers leave connections
    open, so it then closes the clients that were created.
    """
    made: list[assay.AsyncClient] = []

    class Recorded(assay.AsyncClient):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self)

    async def finished(call: Any) -> Any:
        try:
            return await call
        finally:
            for client in made:
                await client.close()

    monkeypatch.setattr("assay.rollouts.AsyncClient", Recorded)
    return lambda call: asyncio.run(finished(call))
