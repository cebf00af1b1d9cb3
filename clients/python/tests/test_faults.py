"""Servers and networks that fail: right rewards, and nothing graded twice."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import (
    Exchange,
    Fault,
    FaultProxy,
    Node,
    bad_gateway,
    cut_in_half,
    expected_rewards,
    free_port,
    lost_reply,
    lost_request,
    math_item,
    math_items,
    recorded_ids,
    rejected,
    sockets,
)

import assay
from assay import _core

COUNT = 256
IDS = sorted(item["id"] for item in math_items(COUNT))

FAULTS: dict[str, list[Fault]] = {
    "overloaded": [rejected(429, "overloaded", "0")] * 3,
    "unavailable": [rejected(503, "store_unavailable", "0")] * 3,
    "shutting down": [rejected(503, "shutting_down")] * 2,
    "cut in half": [cut_in_half] * 3,
    "reply lost": [lost_reply] * 3,
    "request lost": [lost_request] * 3,
    "bad gateway": [bad_gateway] * 2,
    "one after the other": [rejected(429, "overloaded", "0"), lost_reply, cut_in_half],
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_no_reward_and_repeats_no_grade(node: Node, run: str, name: str) -> None:
    proxy = FaultProxy(node.url, FAULTS[name])
    with assay.Client(proxy.url, deadline=60, chunk_items=64) as client:
        results = client.grade(math_items(COUNT), run=run)
    proxy.close()
    assert proxy.faults == len(FAULTS[name])
    assert proxy.requests > COUNT // 64
    assert results.rewards() == expected_rewards(COUNT)
    assert recorded_ids([node], run) == IDS


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_does_not_change_a_stream(node: Node, run: str, name: str) -> None:
    proxy = FaultProxy(node.url, FAULTS[name])
    with assay.Client(proxy.url, deadline=60) as client:
        got = [
            (place, one.reward) for place, one in client.grade_stream(math_items(COUNT), run=run)
        ]
    proxy.close()
    assert proxy.faults == len(FAULTS[name])
    assert sorted(got) == list(enumerate(expected_rewards(COUNT)))
    assert recorded_ids([node], run) == IDS


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_does_not_change_concurrent_calls(node: Node, run: str, name: str) -> None:
    proxy = FaultProxy(node.url, FAULTS[name])
    items = [{**item, "group": None} for item in math_items(COUNT)]

    async def main() -> list[float]:
        async with assay.AsyncClient(proxy.url, deadline=60, connections=4) as client:
            every = await asyncio.gather(*(client.grade([item], run=run) for item in items))
        return [results.rewards()[0] for results in every]

    rewards = asyncio.run(main())
    proxy.close()
    assert proxy.faults == len(FAULTS[name])
    assert rewards == expected_rewards(COUNT)
    assert recorded_ids([node], run) == IDS


def restarting(node: Node) -> tuple[Callable[[int, int], None], list[int]]:
    """A progress function that kills and restarts a node when the first request is done."""
    kills: list[int] = []

    def progress(done: int, total: int) -> None:
        if done < total and not kills:
            kills.append(done)
            node.kill()
            node.start()

    return progress, kills


def test_a_restarted_server_grades_nothing_twice(
    nodes: list[Node], tmp_path: Path, run: str, caplog: pytest.LogCaptureFixture
) -> None:
    nodes.append(Node(tmp_path / "node").start())
    progress, kills = restarting(nodes[0])
    with assay.Client(nodes[0].url, deadline=120, chunk_items=8, connections=4) as client:
        with caplog.at_level(logging.WARNING, "assay"):
            results = client.grade(math_items(COUNT), run=run, progress=progress)
    assert kills
    assert "sent again" in caplog.text
    assert results.rewards() == expected_rewards(COUNT)
    assert recorded_ids(nodes, run) == IDS


def test_one_of_three_servers_is_down(nodes: list[Node], tmp_path: Path, run: str) -> None:
    nodes += [Node(tmp_path / f"node{number}").start() for number in range(2)]
    urls = [f"http://127.0.0.1:{free_port()}", *(node.url for node in nodes)]
    with assay.Client(urls, deadline=120, chunk_items=8, connections=4) as client:
        results = client.grade(math_items(COUNT), run=run)
        # The client reads the record of every server, so it needs one without the server that is
        # down.
        with assay.Client(urls[1:]) as readers:
            assert sorted(grade.id or "" for grade in readers.grades(run=run)) == IDS
    assert results.rewards() == expected_rewards(COUNT)
    assert recorded_ids(nodes, run) == IDS
    assert all(node.grades(run) for node in nodes), "both servers take a share"


def test_one_of_three_servers_restarts(nodes: list[Node], tmp_path: Path, run: str) -> None:
    nodes += [Node(tmp_path / f"node{number}").start() for number in range(3)]
    progress, kills = restarting(nodes[0])
    with assay.Client([node.url for node in nodes], chunk_items=8, connections=6) as client:
        results = client.grade(math_items(COUNT), run=run, progress=progress, deadline=120)
    assert kills
    assert results.rewards() == expected_rewards(COUNT)
    assert recorded_ids(nodes, run) == IDS


def test_a_server_that_never_answers_is_given_up() -> None:
    with assay.Client(f"http://127.0.0.1:{free_port()}", server_timeout=0.3) as client:
        with pytest.raises(
            assay.ServerUnavailableError,
            match=r"not available for 0\.\d+ s .*refused.*`server_timeout`",
        ):
            client.grade(math_items(8))


def test_the_deadline_of_joined_calls_says_why() -> None:
    async def main() -> None:
        async with assay.AsyncClient(f"http://127.0.0.1:{free_port()}", deadline=0.5) as client:
            items = [{**item, "group": None} for item in math_items(1)]
            with pytest.raises(assay.DeadlineExceededError, match="last failure: .*http://127"):
                await client.grade(items)

    asyncio.run(main())


def test_the_deadline_ends_every_wait(node: Node) -> None:
    proxy = FaultProxy(node.url, [rejected(429, "overloaded", "60")])
    with assay.Client(proxy.url) as client:
        with pytest.raises(assay.DeadlineExceededError, match="429"):
            client.grade(math_items(8), deadline=0.3)
    proxy.close()


def test_a_fault_of_the_request_is_not_retried(node: Node) -> None:
    proxy = FaultProxy(node.url, [])
    with assay.Client(proxy.url) as client:
        with pytest.raises(assay.RequestRejectedError) as error:
            client.grade([{"completion": "x", "task": {"type": "unknown"}}])
    proxy.close()
    assert (error.value.status, error.value.code) == (422, "unknown_grader")
    assert error.value.pointer == "/items/0/task/type"
    assert proxy.requests == 1


Grade = Callable[[list[str], str, float], list[float]]


def sync_grade(urls: list[str], run: str, server_timeout: float) -> list[float]:
    with assay.Client(urls, deadline=50, server_timeout=server_timeout, chunk_items=8) as client:
        return client.grade(math_items(COUNT), run=run).rewards()


def async_grade(urls: list[str], run: str, server_timeout: float) -> list[float]:
    async def main() -> list[float]:
        async with assay.AsyncClient(
            urls, deadline=50, server_timeout=server_timeout, chunk_items=8
        ) as client:
            return (await client.grade(math_items(COUNT), run=run)).rewards()

    return asyncio.run(main())


def stream_grade(urls: list[str], run: str, server_timeout: float) -> list[float]:
    with assay.Client(urls, deadline=50, server_timeout=server_timeout) as client:
        got = dict(client.grade_stream(math_items(COUNT), run=run))
    return [got[position].reward or 0.0 for position in range(COUNT)]


HANGS = pytest.mark.parametrize("grade", [sync_grade, async_grade, stream_grade])


def slowly(exchange: Exchange) -> None:
    time.sleep(3.0)
    exchange.answer(*exchange.forward())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(_core, "SILENCE", 0.5)
    monkeypatch.setattr(_core, "HEALTH_TIMEOUT", 0.5)
    caplog.set_level(logging.WARNING, "assay")


@HANGS
@pytest.mark.usefixtures("impatient")
def test_another_server_grades_when_one_hangs(
    nodes: list[Node], tmp_path: Path, run: str, grade: Grade, caplog: pytest.LogCaptureFixture
) -> None:
    nodes += [Node(tmp_path / f"node{number}").start() for number in range(2)]
    nodes[0].hang()
    began = time.monotonic()
    # Several calls, because the first may go to the other server.
    tries = 0
    while "another server grades it" not in caplog.text:
        name = run + "-" * tries
        tries += 1
        assert grade([node.url for node in nodes], name, 1.0) == expected_rewards(COUNT)
        assert recorded_ids(nodes[1:], name) == IDS
        assert time.monotonic() - began < 40
    assert "none to `GET /healthz`" in caplog.text
    # When the server resumes, it does not grade the request, because its client is gone.
    nodes[0].resume()
    sync_grade([nodes[0].url], "later", 30.0)
    assert recorded_ids(nodes[:1], "later") == IDS
    assert [item for number in range(tries) for item in nodes[0].grades(run + "-" * number)] == []


@HANGS
@pytest.mark.usefixtures("impatient")
def test_a_server_that_hangs_for_a_while_grades_nothing_twice(
    nodes: list[Node], tmp_path: Path, run: str, grade: Grade, caplog: pytest.LogCaptureFixture
) -> None:
    nodes.append(Node(tmp_path / "node").start())
    nodes[0].hang()
    timer = threading.Timer(4.0, nodes[0].resume)
    timer.start()
    assert grade([nodes[0].url], run, 30.0) == expected_rewards(COUNT)
    timer.join()
    assert "none to `GET /healthz`" in caplog.text
    assert recorded_ids(nodes, run) == IDS


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_async", [False, True])
def test_waits_for_a_slow_server_that_is_alive(
    node: Node,
    run: str,
    is_async: bool,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Longer than any pause of a busy machine.
    monkeypatch.setattr(_core, "HEALTH_TIMEOUT", 30.0)

    proxy = FaultProxy(node.url, [slowly])
    grade = async_grade if is_async else sync_grade
    assert grade([proxy.url], run, 30.0) == expected_rewards(COUNT)
    proxy.close()
    assert proxy.requests == COUNT // 8
    assert "healthz" not in caplog.text


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_async", [False, True])
def test_checks_of_a_slow_server_leave_no_connections(
    node: Node, run: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "SILENCE", 0.1)
    monkeypatch.setattr(_core, "HEALTH_TIMEOUT", 30.0)
    proxy = FaultProxy(node.url, [slowly])
    item = [math_item("i", 1, 1)]

    async def in_loop() -> int:
        async with assay.AsyncClient(proxy.url, deadline=30) as client:
            before = sockets()
            assert (await client.grade(item, run=run)).rewards() == [1.0]
            return sockets() - before

    if is_async:
        added = asyncio.run(in_loop())
    else:
        with assay.Client(proxy.url, deadline=30) as client:
            before = sockets()
            assert client.grade(item, run=run).rewards() == [1.0]
            added = sockets() - before
    proxy.close()
    assert proxy.checks > 5
    # Those of the request and of the last check, with their other ends in the proxy.
    assert added <= 4


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_that_closes_new_connections_is_alive(
    node: Node, run: str, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    # As a server does at its limit of connections.
    proxy = FaultProxy(node.url, [slowly])
    proxy.on_check = Exchange.hang_up
    grade = async_grade if is_async else sync_grade
    assert grade([proxy.url], run, 30.0) == expected_rewards(COUNT)
    proxy.close()
    assert (proxy.requests, proxy.checks > 0) == (COUNT // 8, True)
    assert "healthz" not in caplog.text


@pytest.mark.usefixtures("impatient")
def test_an_event_loop_that_is_blocked_does_not_cost_a_connection(
    node: Node, run: str, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = FaultProxy(node.url, [slowly])

    async def train() -> list[float]:
        async with assay.AsyncClient(proxy.url, deadline=30) as client:
            call = asyncio.ensure_future(client.grade([math_item("i", 1, 1)], run=run))
            while not call.done():
                await asyncio.sleep(0)
                time.sleep(0.6)
            return (await call).rewards()

    assert asyncio.run(train()) == [1.0]
    proxy.close()
    assert (proxy.requests, proxy.checks > 0) == (1, True)
    assert "healthz" not in caplog.text


@pytest.mark.usefixtures("impatient")
def test_an_event_loop_that_is_blocked_recovers_after_a_failure(node: Node, run: str) -> None:
    proxy = FaultProxy(node.url, [lost_request])

    async def train() -> list[float]:
        async with assay.AsyncClient(proxy.url, deadline=60, server_timeout=4) as client:
            call = asyncio.ensure_future(client.grade([math_item("i", 1, 1)], run=run))
            while not call.done():
                await asyncio.sleep(0)
                # Longer than a probe may take.
                time.sleep(1.1)
            return (await call).rewards()

    assert asyncio.run(train()) == [1.0]
    proxy.close()
    assert (proxy.faults, proxy.requests) == (1, 2)
