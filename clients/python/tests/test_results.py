"""A failed item is never a number by accident."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from assay import MissingFieldError, NotGradedError, Results, SplitBatchError
from assay._core import ChunkReply
from assay.models import Result

FAULT = {"code": "sandbox_failed", "message": "send the item again", "retryable": True}


def result(reward: float | None, **fields: Any) -> dict[str, Any]:
    made = {"id": None, "outcome": "graded", "reward": reward, "advantage": reward, "error": None}
    if reward is None:
        made.update(outcome="failed", error=FAULT)
    return {**made, **fields}


def results(*rewards: float | None) -> Results:
    return Results([result(reward) for reward in rewards], [], [], [], [])


def test_rewards_are_numbers_if_all_items_are_graded() -> None:
    assert results(1.0, 0.0).rewards() == [1.0, 0.0]


def test_rewards_of_failed_items_are_not_numbers() -> None:
    made = results(1.0, None, 0.0)
    assert made[1].reward is None
    assert made.mask == [True, False, True]
    with pytest.raises(NotGradedError) as error:
        made.rewards()
    assert error.value.positions == [1]
    assert "items[1]: failed, `sandbox_failed`: send the item again" in str(error.value)
    with pytest.raises(TypeError):
        sum(one.reward for one in made)  # type: ignore[misc]


def test_the_caller_chooses_the_value_of_failed_items() -> None:
    made = results(1.0, None)
    assert made.rewards_or(masked=None) == [1.0, None]
    assert made.rewards_or(masked=0.0) == [1.0, 0.0]
    assert math.isnan(made.rewards_or(masked=float("nan"))[1])
    assert made.advantages_or(masked=None) == [1.0, None]
    with pytest.raises(TypeError):
        made.rewards_or()  # type: ignore[call-arg]


def test_an_error_lists_the_first_items() -> None:
    made = Results([result(None, id=f"i{number}") for number in range(9)], [], [], [], [])
    with pytest.raises(NotGradedError, match=r"9 of 9 items .*items\[4\] \(`i4`\).*; and 4 more$"):
        made.rewards()


def test_a_single_graded_item_has_no_advantage() -> None:
    made = Results([result(1.0, advantage=None)], [], [], [], [])
    with pytest.raises(NotGradedError, match="its group has fewer than two rewards"):
        made.advantages()


def test_a_field_that_was_not_requested_is_an_error() -> None:
    made = Results([{"verdict": "correct"}], [], [], [], [])
    assert made[0].verdict == "correct"
    for read in (lambda: made.rewards(), lambda: made.mask, lambda: made[0].reward):
        with pytest.raises(MissingFieldError, match="add `reward`"):
            read()
    assert not made[0].has("reward")
    assert not hasattr(made[0], "reward")


def test_views_are_values() -> None:
    one = Result(result(1.0))
    assert one == Result(result(1.0))
    assert one != Result(result(0.0))
    assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(results(1.0, None))).mask == [True, False]
    assert "reward=1.0" in repr(one)
    assert repr(results(1.0, None)) == "<Results of 2 items: 1 without a reward>"


def test_printed_results_have_verdicts_and_reasons() -> None:
    listed = [
        result(1.0, verdict="correct"),
        result(0.0, verdict="wrong_answer", id="b"),
        result(None, verdict=None),
    ]
    made = Results(listed * 7, [], [], [], [])
    assert repr(made) == ("<Results of 21 items: 7 correct, 7 wrong_answer, 7 without a reward>")
    assert str(made).splitlines()[1:4] == [
        "items[0]: correct, reward 1.0",
        "items[1] (`b`): wrong_answer, reward 0.0",
        "items[2]: failed, `sandbox_failed`: send the item again",
    ]
    assert str(made).endswith("\nand 1 more")
    # A request can leave out fields.
    assert str(Results([{"reward": 1.0}], [], [], [], [])).endswith("items[0]: reward 1.0")


def test_replies_are_merged_in_the_order_of_the_items() -> None:
    def reply(positions: list[int], groups: list[str]) -> ChunkReply:
        body = {
            "batch": f"b{positions[0]}",
            "results": [result(float(position)) for position in positions],
            "groups": [{"group": group} for group in groups],
            "channels": [{"channel": "math/default", "uncorrected": "unknown"}],
            "warnings": [{"pointer": "/items/1/foo", "code": "unknown_field", "message": ""}],
        }
        return ChunkReply(positions, body)

    made = Results.of(4, [reply([0, 2], ["a"]), reply([1, 3], ["b"])])
    assert made.rewards() == [0.0, 1.0, 2.0, 3.0]
    assert [group.group for group in made.groups] == ["a", "b"]
    assert [channel.channel for channel in made.channels] == ["math/default"]
    assert [warning.pointer for warning in made.warnings] == ["/items/2/foo", "/items/3/foo"]
    assert made.batches == ["b0", "b1"]


@pytest.mark.parametrize(
    ("estimators", "uncorrected", "is_comparable"),
    [
        (["mean", "mean"], ["unknown", "unknown"], True),
        (["mean", "mean"], [None, "unknown"], True),
        (["mean/j", "mean/j"], [None, None], True),
        (["rloo", "rloo"], [None, None], True),
        (["mean", "mean"], [None, None], False),
        (["mean", "mean/j"], [None, None], False),
        (["gpg", "gpg"], ["unknown", "unknown"], False),
        (["reinforce_pp", None], ["unknown", "unknown"], False),
    ],
)
def test_advantages_of_several_requests_are_those_of_one_or_an_error(
    estimators: list[str | None], uncorrected: list[str | None], is_comparable: bool
) -> None:
    replies = [
        ChunkReply(
            [position],
            {
                "results": [result(1.0, advantage_estimator=estimators[position])],
                "channels": [{"channel": f"c{position}", "uncorrected": uncorrected[position]}],
            },
        )
        for position in range(2)
    ]
    made = Results.of(2, replies)
    assert made.rewards() == [1.0, 1.0]
    if is_comparable:
        assert made.advantages() == [1.0, 1.0]
    else:
        for read in (made.advantages, lambda: made.advantages_or(masked=None)):
            with pytest.raises(SplitBatchError, match="depend on the whole batch"):
                read()
