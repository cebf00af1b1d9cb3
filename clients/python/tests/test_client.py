"""The client against a node."""

from __future__ import annotations

import base64
import gc
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support import (
    FaultProxy,
    Node,
    expected_rewards,
    in_child,
    math_item,
    math_items,
    recorded_ids,
    sockets,
)

import assay

BROKEN = {"id": "bad", "completion": "1", "task": {"type": "math", "answer": ""}}


def test_grades_a_batch(client: assay.Client, run: str) -> None:
    results = client.grade(math_items(16), run=run, step=3, statistics=["p_hat"])
    assert results.rewards() == expected_rewards(16)
    assert results.advantages() == [reward - 0.5 for reward in expected_rewards(16)]
    assert [result.id for result in results] == [item["id"] for item in math_items(16)]
    assert [group.group for group in results.groups] == ["g0", "g1"]
    assert results.groups[0].statistics["p_hat"]["value"] == 0.5
    assert [channel.channel for channel in results.channels] == ["math/default"]
    assert results.warnings == []
    assert len(results.batches) == 1


def test_a_batch_in_several_requests_has_the_same_results(node: Node, run: str) -> None:
    items = math_items(64)
    # The members of groups are not neighbours.
    items = [items[number * 7 % 64] for number in range(64)]
    items[5] = {**items[5], "unknown": 1}
    with assay.Client(node.url) as whole, assay.Client(node.url, chunk_items=16) as parts:
        first, second = whole.grade(items), parts.grade(items)
    assert len(second.batches) > 1
    assert second.rewards() == first.rewards()
    assert second.advantages() == first.advantages()
    # Requests have whole groups, so the groups are in the order of their first items.
    assert [group.to_dict() for group in second.groups] == [
        group.to_dict() for group in first.groups
    ]
    assert [one.to_dict() for one in second.warnings] == [one.to_dict() for one in first.warnings]
    assert first.warnings[0].pointer == "/items/5/unknown"


def test_an_item_that_is_not_graded_has_no_reward(client: assay.Client) -> None:
    results = client.grade([math_item("a", 1, 1), BROKEN])
    assert results.mask == [True, False]
    assert results[1].reward is None
    assert results[1].error is not None
    assert results[1].error.code == "gold_unparsable"
    assert [(position, one.outcome) for position, one in results.not_graded] == [(1, "ungradable")]
    with pytest.raises(assay.NotGradedError, match=r"items\[1\] \(`bad`\): ungradable"):
        results.rewards()


def test_fields_shorten_the_reply(client: assay.Client) -> None:
    results = client.grade([math_item("a", 1, 1), BROKEN], fields=["reward", "verdict"])
    assert results[0].to_dict() == {"reward": 1.0, "verdict": "correct"}
    assert results[1].reward is None
    assert results[1].outcome == "ungradable"
    assert results.groups == results.channels == []
    with pytest.raises(assay.MissingFieldError, match="add `evidence`"):
        _ = results[0].evidence
    with_groups = client.grade(math_items(8), fields=["reward", "groups"])
    assert [group.n for group in with_groups.groups] == [8]


def test_fields_of_a_batch_in_several_requests(node: Node) -> None:
    with assay.Client(node.url, chunk_items=8) as client:
        results = client.grade(math_items(32), fields=["advantage"])
    assert results.advantages() == [reward - 0.5 for reward in expected_rewards(32)]


def test_a_stream_has_every_result_once(client: assay.Client, run: str) -> None:
    with client.grade_stream(math_items(64), run=run) as stream:
        got = dict(stream)
    assert len(got) == 64
    assert [got[position].reward for position in range(64)] == expected_rewards(64)
    assert [group.mean for group in stream.groups] == [0.5] * 8
    assert len(stream.channels) == len(stream.batches) == 1


def test_a_stream_locates_items_without_ids(client: assay.Client) -> None:
    items = [{key: item[key] for key in ("completion", "task")} for item in math_items(32)]
    got = dict(client.grade_stream(items, fields=["reward"]))
    assert [got[position].reward for position in range(32)] == expected_rewards(32)


def test_a_stream_in_several_requests(node: Node) -> None:
    with assay.Client(node.url, chunk_items=8) as client:
        stream = client.grade_stream(math_items(64))
        got = dict(stream)
    assert [got[position].reward for position in range(64)] == expected_rewards(64)
    assert len(stream.batches) == 8
    assert len(stream.groups) == 8
    assert len(stream.channels) == 1


def test_a_stream_raises_the_error_of_its_request(client: assay.Client) -> None:
    with pytest.raises(assay.RequestRejectedError, match="unknown_grader"):
        list(client.grade_stream([{"completion": "x", "task": {"type": "unknown"}}]))


def test_a_stream_that_was_closed_ends(client: assay.Client) -> None:
    stream = client.grade_stream(math_items(64))
    next(stream)
    stream.close()
    with pytest.raises(assay.AssayError, match="was closed"):
        list(stream)
    assert list(stream) == []


def test_a_repeated_key_returns_the_first_reply(node: Node, client: assay.Client, run: str) -> None:
    first = client.grade(math_items(8), run=run, idempotency_key=f"key-{run}")
    again = client.grade(math_items(8), run=run, idempotency_key=f"key-{run}")
    assert again.to_dicts() == first.to_dicts()
    assert recorded_ids([node], run) == sorted(item["id"] for item in math_items(8))


def test_a_repeated_key_is_one_batch_on_several_servers(
    nodes: list[Node], tmp_path: Path, run: str
) -> None:
    nodes += [Node(tmp_path / f"node{number}").start() for number in range(2)]
    for _ in range(2):
        with assay.Client([node.url for node in nodes], chunk_items=8) as client:
            for number in range(8):
                items = [{**item, "id": f"{number}-{item['id']}"} for item in math_items(16)]
                # Limits that a server taught the client do not change the requests of a key.
                client._core.chunk_items = 8 * (1 + number % 2)
                client.grade(items, run=run, idempotency_key=f"{run}-{number}")
    recorded = recorded_ids(nodes, run)
    assert len(recorded) == len(set(recorded)) == 8 * 16


def test_progress_counts_items(node: Node) -> None:
    seen: list[tuple[int, int]] = []
    with assay.Client(node.url, chunk_items=8) as client:
        client.grade(math_items(32), progress=lambda *state: seen.append(state))
        assert seen == [(8, 32), (16, 32), (24, 32), (32, 32)]
        seen.clear()
        list(client.grade_stream(math_items(32), progress=lambda *state: seen.append(state)))
    assert seen == [(done, 32) for done in range(1, 33)]


def test_progress_is_shown(client: assay.Client, capsys: pytest.CaptureFixture[str]) -> None:
    client.grade(math_items(8), progress=True)
    # Not a terminal: a line every ten seconds, so none here.
    assert capsys.readouterr().err == ""


def test_large_bodies_are_compressed_on_their_way_to_another_machine(node: Node) -> None:
    items = [{**item, "prompt": "x" * 1000} for item in math_items(128)]
    # The second address is of this machine too, but the client does not know that.
    for address, encoding in (("127.0.0.1", None), ("127.0.0.2", "zstd")):
        proxy = FaultProxy(node.url, [], listen=address)
        with assay.Client(proxy.url) as client:
            assert client.grade(items).rewards() == expected_rewards(128)
            client.grade(items[:8])
        proxy.close()
        assert proxy.encodings == [encoding, None]


def test_threads_share_a_client(node: Node, run: str) -> None:
    rewards: dict[int, list[float]] = {}
    with assay.Client(node.url, connections=4) as client:

        def grade(number: int) -> None:
            items = [{**item, "id": f"{number}-{item['id']}"} for item in math_items(16)]
            rewards[number] = client.grade(items, run=run).rewards()

        threads = [threading.Thread(target=grade, args=(number,)) for number in range(32)]
        before = sockets()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sockets() - before <= 4
    assert rewards == {number: expected_rewards(16) for number in range(32)}


def test_a_client_that_is_not_used_any_more_closes_its_connections(node: Node) -> None:
    before = sockets()
    client = assay.Client(node.url)
    client.grade(math_items(8))
    assert sockets() == before + 1
    del client
    gc.collect()
    assert sockets() == before


def test_a_forked_child_has_connections_of_its_own(client: assay.Client) -> None:
    def grades() -> bool:
        return client.grade(math_items(8)).rewards() == expected_rewards(8)

    assert grades()
    background = threading.Thread(target=grades)
    background.start()
    assert in_child(lambda: all(grades() for _ in range(5)))
    background.join()
    assert grades()


def test_lists_recorded_grades(client: assay.Client, run: str) -> None:
    client.grade(math_items(24), run=run, step=1)
    client.grade(math_items(8), run=run, step=2)
    assert len(list(client.grades(run=run))) == 32
    assert {grade.step for grade in client.grades(run=run, step=2)} == {2}
    passed = list(client.grades(run=run, verdict="correct"))
    assert len(passed) == 16
    assert all(grade.pass_ for grade in passed)
    newest = [grade.grade for grade in client.grades(run=run, limit=5)]
    assert newest == sorted(newest, reverse=True)
    assert len(newest) == 5
    with pytest.raises(TypeError, match="unknown filter `runs`; the filters are appeal, batch"):
        client.grades(runs=run)  # type: ignore[call-arg]


def test_lists_over_several_pages(
    client: assay.Client, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.grade(math_items(64), run=run)
    monkeypatch.setattr("assay._calls.PAGE", 10)
    ids = sorted(grade.id or "" for grade in client.grades(run=run))
    assert ids == sorted(item["id"] for item in math_items(64))


def test_names_are_one_segment_of_a_path(client: assay.Client, run: str) -> None:
    name = f"{run}/a b?c#%2e"
    client.grade([math_item("a", 1, 1)], run=name)
    assert client.run(name).run == name
    for refused in (".", ".."):
        with pytest.raises(ValueError, match="cannot be part of a URL"):
            client.run(refused)
    for refused in (".", "..", "a\nb"):
        with pytest.raises(assay.errors.RequestRejectedError, match="choose another name"):
            client.grade([math_item("a", 1, 1)], run=refused)


def test_reads_and_replays_a_grade(client: assay.Client, run: str) -> None:
    client.grade([math_item("a", 3, 3)], run=run)
    (grade,) = client.grades(run=run)
    detail = client.get(grade.grade)
    assert detail.task == {"type": "math", "answer": "3"}
    assert detail.completion == "so it is \\boxed{3}."
    replay = client.replay(grade.grade)
    assert not replay.flipped
    assert replay.recorded.verdict == replay.replayed.verdict == "correct"
    receipt = client.receipt(grade.grade)
    statement = json.loads(base64.b64decode(receipt.payload))
    assert statement["grade"] == grade.grade
    assert statement["result"]["verdict"] == "correct"
    assert receipt.signatures[0].keyid
    with pytest.raises(assay.RequestRejectedError) as error:
        client.get("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert error.value.status == 404


def test_merges_the_records_of_several_servers(nodes: list[Node], tmp_path: Path, run: str) -> None:
    nodes += [Node(tmp_path / f"node{number}").start() for number in range(2)]
    with assay.Client([node.url for node in nodes]) as client:
        for number in range(4):
            client.grade([math_item(f"i{number}", 1, 1)], run=run)
        grades = [grade.grade for grade in client.grades(run=run)]
        assert len(grades) == 4
        assert grades == sorted(grades, reverse=True)
        assert [client.get(grade).grade for grade in grades] == grades
    # A record that two URLs share is listed once.
    with assay.Client([nodes[0].url, nodes[0].url.replace("127.0.0.1", "localhost")]) as client:
        assert len(list(client.grades(run=run))) == len(nodes[0].grades(run))


def test_other_requests(client: assay.Client, run: str) -> None:
    client.grade(math_items(8), run=run)
    assert "math" in {grader.name for grader in client.graders().graders}
    assert run in {one.run for one in client.runs().runs}
    assert client.run(run).run == run
    assert "math/default" in {channel.channel for channel in client.channels().channels}
    assert "default" in {policy.name for policy in client.policies().policies}
    assert client.reward_models().reward_models == []
    suggested = client.suggest(run, keys=["new"], count=1).prompts
    assert [prompt.prompt_key for prompt in suggested] == ["new"]
    with pytest.raises(assay.RequestRejectedError, match="unknown_model"):
        client.score("none", [{"prompt": "p", "completion": "c"}])


def test_checks_a_dataset_and_stores_the_report(client: assay.Client, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    rows = [
        {"id": "p1", "question": "What is 2 plus 3?", "answer": "2 + 3 = 5\n#### 5"},
        {"id": "p2", "question": "What is 2 plus 3?", "answer": "I count to 8.\n#### 8"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = client.check(file, template="gsm8k")
    assert [finding.code for finding in report.findings] == ["conflicting-golds"]
    stored = client.checks(limit=1)[0]
    assert stored.errors == report.errors == 1
    assert client.get_check(stored.check).report.findings[0].key == "p2"


@pytest.mark.parametrize("format", ["pandas", "pyarrow", "polars"])
def test_exports_a_table(client: assay.Client, run: str, format: Any) -> None:
    module = pytest.importorskip(format)
    client.grade([*math_items(8), BROKEN], run=run)
    table = client.export(format, run=run)
    rows = {
        "pandas": lambda: table.to_dict("records"),
        "pyarrow": lambda: table.to_pylist(),
        "polars": lambda: table.to_dicts(),
    }[format]()
    found = {row["id"]: row for row in rows}
    assert len(rows) == 9
    assert [found[item["id"]]["reward"] for item in math_items(8)] == expected_rewards(8)
    # A missing number is missing, not 0.
    missing = found["bad"]["reward"]
    assert missing is None or missing != missing
    assert json.loads(found["bad"]["error"])["code"] == "gold_unparsable"
    assert found["i0"]["time_us"].tzinfo is not None
    assert list(found["i0"])[:3] == ["grade", "run", "step"]
    # An empty table has the same columns.
    assert list(module_columns(client.export(format, run="no such run"))) == list(found["i0"])
    assert module is not None


def module_columns(table: Any) -> Any:
    return table.column_names if hasattr(table, "column_names") else table.columns


def test_export_names_a_library_that_is_missing(
    client: assay.Client, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        client.export("polars", run=run)
