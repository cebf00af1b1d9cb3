"""Shadows of runs against a node."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from support import Node

import assay

OTHER = {"match": "contains"}


def items(count: int) -> list[dict[str, Any]]:
    task = {"type": "text", "answer": "Paris"}
    return [{"completion": "Paris" if n % 2 else "it is Paris", "task": task} for n in range(count)]


def found(client: assay.Client, run: str, count: int) -> assay.models.Shadow:
    """The shadow of a run once it has graded this many items."""
    for _ in range(600):
        shadow = client.shadows.get(run)
        if shadow.findings.replay.items == count:
            return shadow
        time.sleep(0.1)
    raise AssertionError(f"{shadow.findings.replay.items} of {count} items")


def test_a_shadow_shows_what_its_promotion_changes(client: assay.Client) -> None:
    run = "shadows/1"
    before = client.grade(items(20), run=run)
    started = client.shadows.start(run, OTHER, share=1.0, from_start=True)
    assert (started.run, started.share, started.options) == (run, 1.0, OTHER)
    findings = found(client, run, 20).findings
    assert (findings.replay.flipped, findings.rewards.changed) == (10, 10)
    assert (findings.rewards.recorded_sum, findings.rewards.shadow_sum) == (10.0, 20.0)
    with pytest.raises(assay.RequestRejectedError, match="has a shadow"):
        client.shadows.start(run, OTHER)
    assert client.shadows.promote(run).ended_us is not None
    after = client.grade(items(2), run=run)
    assert [before[0].verdict, after[0].verdict] == ["wrong_answer", "correct"]
    assert client.shadows.withdraw(run).withdrawn_us is not None
    assert client.grade(items(2), run=run)[0].verdict == "wrong_answer"


def test_a_run_without_a_shadow_is_named(client: assay.Client) -> None:
    with pytest.raises(assay.RequestRejectedError, match="has no shadow") as rejected:
        client.shadows.end("none")
    assert rejected.value.status == 404


def test_shadows_with_asyncio(node: Node) -> None:
    async def promoted() -> tuple[bool, bool, bool]:
        async with assay.AsyncClient(node.url) as client:
            started = await client.shadows.start("shadows/async", OTHER)
            assert (await client.shadows.get("shadows/async")).shadow == started.shadow
            ended = await client.shadows.end("shadows/async")
            promoted = await client.shadows.promote("shadows/async")
            withdrawn = await client.shadows.withdraw("shadows/async")
            return (
                ended.promoted_us is None,
                promoted.promoted_us is not None,
                withdrawn.withdrawn_us is not None,
            )

    assert asyncio.run(promoted()) == (True, True, True)
