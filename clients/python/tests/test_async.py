"""The client for asyncio against a node."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from typing import Any

import pytest
from support import (
    FaultProxy,
    Node,
    expected_rewards,
    in_child,
    math_item,
    math_items,
    memory_mib,
    recorded_ids,
    rejected,
    sockets,
)

import assay

MANY = 16_000
BROKEN = {"id": "bad", "completion": "1", "task": {"type": "math", "answer": ""}}


def alone(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items without groups."""
    return [{key: item[key] for key in ("id", "completion", "task")} for item in items]


def test_has_the_results_of_the_other_client(node: Node, client: assay.Client, run: str) -> None:
    items = [*math_items(32), BROKEN]

    async def main() -> None:
        async with assay.AsyncClient(node.url, chunk_items=16) as other:
            results = await other.grade(items, run=run, step=1, statistics=["p_hat"])
            expected = client.grade(items, statistics=["p_hat"])
            assert results.rewards_or(masked=None) == expected.rewards_or(masked=None)
            assert results.advantages_or(masked=None) == expected.advantages_or(masked=None)
            assert [one.to_dict() for one in results.groups] == [
                one.to_dict() for one in expected.groups
            ]
            stream = other.grade_stream(items, run=run)
            got = {position: result async for position, result in stream}
            assert [got[position].reward for position in range(33)] == expected.rewards_or(None)
            assert len(stream.groups) == 5
            grades = [grade.grade async for grade in other.grades(run=run)]
            assert grades == [grade.grade for grade in client.grades(run=run)]
            assert len([grade async for grade in other.grades(run=run, limit=3)]) == 3
            assert (await other.get(grades[0])).grade == grades[0]
            assert not (await other.replay(grades[0])).flipped
            assert (await other.receipt(grades[0])).signatures
            assert (await other.run(run)).run == run
            assert run in {one.run for one in (await other.runs()).runs}
            assert (await other.graders()).graders
            assert (await other.channels()).channels
            assert (await other.policies()).policies
            assert (await other.reward_models()).reward_models == []
            assert (await other.suggest(run, keys=["new"], count=1)).prompts
            table = await other.export("pyarrow", run=run)
            assert table.num_rows == len(grades)

    pytest.importorskip("pyarrow")
    asyncio.run(main())


def test_many_concurrent_awaits(node: Node, run: str) -> None:
    items = [math_item(f"i{number}", number % 9, number % 7) for number in range(MANY)]

    async def main() -> None:
        open_before, memory_before, most = sockets(), memory_mib(), 0
        done = asyncio.Event()

        async def watch() -> int:
            most = 0
            while not done.is_set():
                most = max(most, sockets())
                await asyncio.sleep(0.02)
            return most

        watching = asyncio.ensure_future(watch())
        async with assay.AsyncClient(node.url, deadline=300) as client:
            every = await asyncio.gather(*(client.grade([item], run=run) for item in items))
            done.set()
            most = await watching
        assert most - open_before <= 40
        assert memory_mib() - memory_before < 400
        for number, results in enumerate(every):
            assert results.rewards() == [float(number % 9 == number % 7)]
            assert results[0].id == f"i{number}"
            assert len(results.groups) == len(results.channels) == 1

    asyncio.run(main())
    assert recorded_ids([node], run) == sorted(item["id"] for item in items)


def test_joined_calls_have_the_results_that_they_have_alone(node: Node, run: str) -> None:
    items = [*alone(math_items(24)), BROKEN, {**math_item("extra", 1, 1), "unknown": 1}]

    async def grade(join: bool) -> list[assay.Results]:
        async with assay.AsyncClient(node.url, connections=2, join=join) as client:
            # Calls of one, two and three items.
            calls = [items[first : first + first % 3 + 1] for first in range(0, 24)]
            calls += [[items[24]], [items[25]]]
            return await asyncio.gather(*(client.grade(call, run=run) for call in calls))

    joined, single = asyncio.run(grade(True)), asyncio.run(grade(False))
    assert len({results.batches[0] for results in joined}) < len(joined)
    assert len({results.batches[0] for results in single}) == len(single)
    changing = {"grade", "position", "queue_us", "grade_us", "time_us", "cached"}
    for one, other in zip(joined, single):
        assert [
            {key: value for key, value in result.items() if key not in changing}
            for result in one.to_dicts()
        ] == [
            {key: value for key, value in result.items() if key not in changing}
            for result in other.to_dicts()
        ]
        assert [group.to_dict() for group in one.groups] == [
            group.to_dict() for group in other.groups
        ]
        assert [warning.to_dict() for warning in one.warnings] == [
            warning.to_dict() for warning in other.warnings
        ]
    assert joined[-1].warnings[0].pointer == "/items/0/unknown"


def test_calls_that_differ_are_not_joined(node: Node, run: str) -> None:
    async def main() -> list[assay.Results]:
        async with assay.AsyncClient(node.url, connections=1) as client:
            item = math_item("same", 1, 1)
            text = {"id": "t", "completion": "x", "task": {"type": "text", "answer": "x"}}
            return await asyncio.gather(
                client.grade([item], run=run, step=1),
                client.grade([item], run=run, step=2),
                # The same id is in one batch only once.
                client.grade([item], run=run, step=1),
                client.grade([text], run=run, step=1),
                client.grade([{**item, "group": "g"}], run=run, step=1),
                client.grade([item], run=run, step=1, statistics=["p_hat"]),
            )

    results = asyncio.run(main())
    assert all(one.rewards() == [1.0] for one in results)
    assert len({one.batches[0] for one in results}) == 6


def test_an_invalid_item_fails_its_own_call(node: Node) -> None:
    async def main() -> list[Any]:
        async with assay.AsyncClient(node.url, connections=1) as client:
            calls = [client.grade([item]) for item in alone(math_items(8))]
            bad = {"completion": "x", "task": {"type": "math", "answer": "1", "typo": 1}}
            return await asyncio.gather(*calls, client.grade([bad]), return_exceptions=True)

    *good, bad = asyncio.run(main())
    assert [results.rewards()[0] for results in good] == expected_rewards(8)
    assert isinstance(bad, assay.RequestRejectedError)
    assert bad.pointer == "/items/0/task/typo"


@pytest.mark.parametrize("limit", [{"chunk_items": 10}, {"chunk_bytes": 500}])
def test_joined_calls_respect_the_limits_of_requests(
    node: Node, run: str, limit: dict[str, int]
) -> None:
    options: dict[str, Any] = {"connections": 2, **limit}

    async def main() -> list[float]:
        async with assay.AsyncClient(node.url, **options) as client:
            items = alone(math_items(256))
            every = await asyncio.gather(*(client.grade([item], run=run) for item in items))
            assert all(len(results.batches) == 1 for results in every)
            return [results.rewards()[0] for results in every]

    assert asyncio.run(main()) == expected_rewards(256)
    assert recorded_ids([node], run) == sorted(item["id"] for item in math_items(256))


def test_joined_calls_that_are_too_large_together(node: Node, run: str) -> None:
    proxy = FaultProxy(node.url, [rejected(413, "too_many_items")] * 2)

    async def main() -> list[float]:
        async with assay.AsyncClient(proxy.url, connections=1) as client:
            items = alone(math_items(64))
            calls = [items[first : first + 4] for first in range(0, 64, 4)]
            every = await asyncio.gather(*(client.grade(call, run=run) for call in calls))
            assert [len(results.groups) for results in every] == [4] * 16
            return [reward for results in every for reward in results.rewards()]

    assert asyncio.run(main()) == expected_rewards(64)
    proxy.close()
    assert proxy.faults == 2
    assert recorded_ids([node], run) == sorted(item["id"] for item in math_items(64))


def test_a_malformed_call_does_not_disturb_others(node: Node) -> None:
    async def main() -> list[Any]:
        async with assay.AsyncClient(node.url, connections=1, deadline=30) as client:
            calls = [client.grade([item]) for item in alone(math_items(8))]
            bad = client.grade([{**math_item("a", 1, 1), "id": ["not", "text"]}])
            return await asyncio.gather(*calls, bad, return_exceptions=True)

    *good, bad = asyncio.run(main())
    assert [results.rewards()[0] for results in good] == expected_rewards(8)
    assert isinstance(bad, assay.RequestRejectedError)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'{"results":[1,2]}',
        b'{"results":[{}]}',
        b'{"results":[{},{}],"warnings":[{"pointer":null}]}',
        b'{"results":[{},{}],"channels":[1]}',
    ],
)
def test_an_unexpected_reply_is_an_error_of_every_call(node: Node, body: bytes) -> None:
    proxy = FaultProxy(node.url, [lambda exchange: exchange.answer(200, {}, body)] * 9)

    async def main() -> list[Any]:
        async with assay.AsyncClient(proxy.url, connections=1, deadline=30) as client:
            calls = [client.grade([item]) for item in alone(math_items(2))]
            return await asyncio.gather(*calls, return_exceptions=True)

    errors = asyncio.run(main())
    proxy.close()
    assert [type(error) for error in errors] == [assay.UnexpectedReplyError] * 2


def test_event_loops_that_ended_are_forgotten(node: Node) -> None:
    client = assay.AsyncClient(node.url)
    before = sockets()
    with warnings.catch_warnings():
        # The connections were not closed before the event loop ended.
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in range(20):
            assert len(asyncio.run(client.grade(math_items(8)))) == 8
            gc.collect()
        assert sockets() - before <= 3
        del client
        gc.collect()


def test_an_abandoned_call_does_not_disturb_others(node: Node) -> None:
    async def main() -> list[float]:
        async with assay.AsyncClient(node.url, connections=1) as client:
            calls = [asyncio.ensure_future(client.grade([item])) for item in alone(math_items(16))]
            await asyncio.sleep(0)
            for call in calls[::2]:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in results[::2])
            return [one.rewards()[0] for one in results[1::2]]  # type: ignore[union-attr]

    assert asyncio.run(main()) == expected_rewards(16)[1::2]


def test_the_deadline_ends_every_wait(node: Node) -> None:
    proxy = FaultProxy(node.url, [rejected(429, "overloaded", "60")] * 3)

    async def main() -> None:
        async with assay.AsyncClient(proxy.url) as client:
            for items in (alone(math_items(1)), math_items(8)):
                began = time.monotonic()
                with pytest.raises(assay.DeadlineExceededError):
                    await client.grade(items, deadline=0.3)
                assert time.monotonic() - began < 10

    asyncio.run(main())
    proxy.close()


def test_one_client_serves_several_event_loops(node: Node) -> None:
    client = assay.AsyncClient(node.url)

    async def main() -> list[float]:
        results = await client.grade(math_items(8))
        joined = await client.grade(alone(math_items(1)))
        assert joined.rewards() == [1.0]
        await client.close()
        return results.rewards()

    for _ in range(3):
        assert asyncio.run(main()) == expected_rewards(8)


def test_a_forked_child_has_connections_of_its_own(node: Node) -> None:
    client = assay.AsyncClient(node.url)

    async def main() -> list[float]:
        results = await client.grade(math_items(8))
        await client.close()
        return results.rewards()

    def grades() -> bool:
        return asyncio.run(main()) == expected_rewards(8)

    assert grades()
    assert in_child(grades)
    assert grades()


def test_a_stream_can_be_abandoned(node: Node) -> None:
    async def main() -> None:
        async with assay.AsyncClient(node.url) as client:
            async with client.grade_stream(math_items(64)) as stream:
                async for _ in stream:
                    break
            assert (await client.grade(math_items(8))).rewards() == expected_rewards(8)

    asyncio.run(main())


def test_a_stream_that_was_closed_ends(node: Node) -> None:
    async def main() -> None:
        async with assay.AsyncClient(node.url) as client:
            for reads_first in (True, False):
                stream = client.grade_stream(math_items(64))
                if reads_first:
                    await stream.__anext__()
                await stream.close()
                with pytest.raises(assay.AssayError, match="was closed"):
                    async for _ in stream:
                        pass

    asyncio.run(asyncio.wait_for(main(), 30))
