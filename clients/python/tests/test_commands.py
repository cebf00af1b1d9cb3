"""Commands without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Node, expected_rewards, in_child, math_item, math_items

import assay

BROKEN = {"id": "bad", "completion": "1", "task": {"type": "math", "answer": ""}}


def test_grades_on_this_machine_whatever_server_a_variable_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASSAY_SERVER", "http://127.0.0.1:1")
    results = assay.grade([{"completion": "\\boxed{2}", "task": {"type": "math", "answer": "2"}}])
    assert results[0].verdict == "correct"


def test_grades_without_a_server() -> None:
    results = assay.grade(math_items(32))
    assert results.rewards() == expected_rewards(32)
    assert results.advantages() == [reward - 0.5 for reward in expected_rewards(32)]
    assert [result.id for result in results] == [item["id"] for item in math_items(32)]


def test_has_the_results_of_a_server(client: assay.Client) -> None:
    items = [*math_items(16), BROKEN]
    changing = {"grade", "queue_us", "grade_us", "time_us", "cached", "recorded"}

    def constant(results: assay.Results) -> list[dict[str, object]]:
        return [
            {key: value for key, value in result.items() if key not in changing}
            for result in results.to_dicts()
        ]

    assert constant(assay.grade(items)) == constant(client.grade(items))


@pytest.mark.parametrize("policy", [None, {"advantage_estimator": "reinforce_pp"}])
def test_a_batch_is_graded_as_a_whole(client: assay.Client, policy: dict[str, str] | None) -> None:
    # Two of the three members of each group are far from each other.
    items = [
        math_item(f"i{number}", number % 5, number % 3, f"g{number % 1000}")
        for number in range(3000)
    ]
    results = assay.grade(items, policy=policy)
    assert results.advantages() == client.grade(items, policy=policy).advantages()


def test_a_batch_that_is_too_large_is_an_error() -> None:
    with pytest.raises(assay.SplitBatchError, match="65537 items"):
        assay.grade({"completion": "", "task": {}} for _ in range(65_537))


def test_fields_and_failed_items() -> None:
    results = assay.grade([math_item("a", 1, 1), BROKEN], fields=["reward"])
    assert results[0].to_dict() == {"reward": 1.0}
    assert results.mask == [True, False]
    with pytest.raises(assay.NotGradedError, match=r"items\[1\]: ungradable"):
        results.rewards()


def test_policies_by_object() -> None:
    policy = {"length": {"soft_overlong": {"max": 100, "buffer": 50}}}
    items = [{**item, "meta": {"tokens": 75}} for item in math_items(8)]
    results = assay.grade(items, policy=policy)
    assert results.rewards()[0] == 0.5


def test_an_item_without_a_policy_has_that_of_the_batch(client: assay.Client) -> None:
    # A table has null where a row has no policy.
    items = [{**math_item("a", 1, 1), "policy": None}]
    policy = {"format": [{"part": "boxed", "factor": 0.5}]}
    for grade in (assay.grade, client.grade):
        results = grade(items, policy=policy)
        assert results[0].outcome == "graded"
        assert results.mask == [False], "the item lacks the part"


def test_arguments_are_checked_as_by_a_server(client: assay.Client, tmp_path: Path) -> None:
    for grade in (assay.grade, client.grade):
        with pytest.raises(ValueError, match="`fields` is empty"):
            grade(math_items(8), fields=[])
    assert client.grade(math_items(8), run="-x", step=True).rewards() == expected_rewards(8)
    database = f"sqlite://{tmp_path}/record.db"
    results = assay.grade(math_items(8), run="-x", step=True, database=database)
    assert results.rewards() == expected_rewards(8)
    with pytest.raises(ValueError, match="set `database`"):
        assay.grade(math_items(8), run="r")
    with pytest.raises(ValueError, match="`a` occurs twice"):
        assay.grade([math_item("a", 1, 1)] * 2)


def test_records_in_a_database(nodes: list[Node], tmp_path: Path) -> None:
    database = f"sqlite://{tmp_path}/record.db"
    assay.grade(math_items(8), database=database, run="r", step=2)
    nodes.append(Node(tmp_path / "node", database).start())
    assert {(grade["id"], grade["step"]) for grade in nodes[0].grades("r")} == {
        (item["id"], 2) for item in math_items(8)
    }


def test_an_invalid_item_is_an_error() -> None:
    unknown = {"completion": "x", "task": {"type": "unknown"}}
    for fields in (None, ["reward"]):
        with pytest.raises(assay.CommandFailedError, match="unknown") as error:
            assay.grade([unknown], fields=fields)
        assert "no item is valid; items[0]: `/task/type`: " in str(error.value)
        assert "line" not in str(error.value)
    results = assay.grade([math_item("a", 1, 1), unknown])
    with pytest.raises(assay.NotGradedError, match=r": items\[1\]: .*: `/task/type`: ") as missing:
        results.rewards()
    assert "line" not in str(missing.value)


def test_a_configuration_in_the_current_folder_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assay.toml").write_text("[nonsense]\n")
    (tmp_path / "data.jsonl").write_text('{"question": "What is 1 + 1?", "answer": "#### 2"}\n')
    monkeypatch.chdir(tmp_path)
    assert assay.grade(math_items(8)).rewards() == expected_rewards(8)
    assert assay.check("data.jsonl", template="gsm8k").findings == []
    with assay.serve() as server, server.client() as client:
        assert client.grade(math_items(8)).rewards() == expected_rewards(8)
    for run in (
        lambda: assay.grade(math_items(8), config="assay.toml"),
        lambda: assay.check("data.jsonl", template="gsm8k", config="assay.toml"),
        lambda: assay.serve(config="assay.toml"),
    ):
        with pytest.raises(assay.CommandFailedError, match="nonsense"):
            run()


def test_the_deadline_ends_the_command() -> None:
    with pytest.raises(assay.DeadlineExceededError, match="assay grade"):
        assay.grade(math_items(8), deadline=0.0001)


def test_grades_in_a_forked_worker() -> None:
    assert in_child(lambda: assay.grade(math_items(8)).rewards() == expected_rewards(8))


def test_checks_a_dataset(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    rows = [
        {"id": "p1", "question": "What is 6 times 8?", "answer": "6 * 8 = 48\n#### 48"},
        {"id": "p2", "question": "What is 7 divided by 0?", "answer": "#### N/A"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = assay.check(file, template="gsm8k")
    assert [(finding.code, finding.key) for finding in report.findings] == [("gold-missing", "p2")]
    assert assay.check(file, template="gsm8k", ignore=["gold-missing"]).findings == []
    with pytest.raises(assay.CommandFailedError, match="assay check.*ended with status 2"):
        assay.check(tmp_path / "none.jsonl", template="gsm8k")
