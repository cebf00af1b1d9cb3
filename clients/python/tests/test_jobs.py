"""Jobs against a node."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support import Node

import assay


def items(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": str(n),
            "group": str(n // 3),
            "completion": f"so it is {n % 2}",
            "task": {"type": "text", "answer": "so it is 1"},
        }
        for n in range(count)
    ]


def test_a_job_has_the_results_of_a_call(client: assay.Client) -> None:
    sent = items(600)
    expected = client.grade(sent)
    job = client.jobs.submit(sent, run="jobs", step=2, idempotency_key="k")
    assert client.jobs.submit(sent, run="jobs", step=2, idempotency_key="k").job == job.job
    shown: list[tuple[int, int]] = []
    ended = client.jobs.wait(job.job, progress=lambda done, total: shown.append((done, total)))
    assert (ended.state, ended.graded, ended.passed) == ("done", 600, 300)
    assert shown[-1] == (600, 600)
    results = list(client.jobs.results(job.job))
    assert [result.id for result in results] == [item["id"] for item in sent]
    assert [result.verdict for result in results] == [result.verdict for result in expected]
    assert [result.advantage for result in results] == [result.advantage for result in expected]
    assert client.jobs.recent()[0].job == job.job
    assert client.jobs.cancel(job.job).state == "done", "it has ended"


def test_invalid_items_have_results(client: assay.Client) -> None:
    sent = items(2)
    del sent[1]["task"]
    job = client.jobs.submit(sent)
    first, second = client.jobs.results(job.job)
    assert (first.outcome, second.outcome) == ("graded", "ungradable")
    assert second.error is not None and second.error.message.startswith("line 2: ")
    with pytest.raises(assay.RequestRejectedError) as rejected:
        client.jobs.submit([])
    assert rejected.value.code == "empty_batch"


def test_the_same_for_asyncio(node: Node) -> None:
    async def graded(count: int) -> list[str | None]:
        async with assay.AsyncClient(node.url) as client:
            job = await client.jobs.submit(items(count))
            results = [result async for result in client.jobs.results(job.job)]
            ended = await client.jobs.wait(job.job)
            assert (await client.jobs.get(job.job)).state == ended.state == "done"
            assert await client.jobs.recent(limit=1) != []
            return [result.id for result in results]

    async def both() -> list[list[str | None]]:
        return list(await asyncio.gather(graded(3), graded(300)))

    assert [len(ids) for ids in asyncio.run(both())] == [3, 300]


# A gold with which the items that passed fail, and the other way round.
OTHER = {"answer": "so it is 0"}


def test_a_replay_compares_verdicts(client: assay.Client) -> None:
    math = {"completion": "\\boxed{1}", "task": {"type": "math", "answer": "1"}, "checks": {}}
    client.grade([*items(600), math], run="replays")
    same = client.jobs.wait(client.jobs.replay(run="replays", grader="text").job)
    assert same.replay is not None
    assert (same.kind, same.items, same.replay.flipped) == ("replay", 600, 0)

    job = client.jobs.replay(run="replays", options={"match": "contains"}, idempotency_key="r")
    again = client.jobs.replay(run="replays", options={"match": "contains"}, idempotency_key="r")
    assert again.job == job.job
    replays = list(client.jobs.replays(job.job))
    missing = [replay for replay in replays if isinstance(replay, assay.models.MissingReplay)]
    assert len(replays) == 601 and len(missing) == 1
    assert missing[0].error.code == "invalid_task"

    job = client.jobs.wait(client.jobs.replay(run="replays", grader="text", options=OTHER).job)
    assert job.options == OTHER
    assert job.replay is not None and job.replay.flipped == 600
    pairs = {(pair.recorded, pair.replayed): pair.items for pair in job.replay.graders[0].verdicts}
    assert pairs == {("correct", "wrong_answer"): 300, ("wrong_answer", "correct"): 300}
    with pytest.raises(assay.RequestRejectedError) as rejected:
        client.jobs.replay(run="unknown")
    assert rejected.value.code == "empty_batch"


def test_replays_with_asyncio(node: Node) -> None:
    async def replayed() -> list[bool]:
        async with assay.AsyncClient(node.url) as client:
            await client.grade(items(3), run="async")
            job = await client.jobs.replay(run="async", truncated=False, options=OTHER)
            return [replay.flipped async for replay in client.jobs.replays(job.job)]

    assert asyncio.run(replayed()) == [True] * 3
