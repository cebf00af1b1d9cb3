"""What is logged about missing rewards."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from support import Node

import assay
from assay import trl
from assay._missing import MissingRewards

GOLD = {"type": "math", "answer": "4"}
UNGRADABLE = {"type": "math", "answer": ""}
RIGHT = "\\boxed{4}"


def results(*codes: str | None) -> assay.Results:
    """Results with these codes of errors; `None` for a reward."""
    made = [
        {"outcome": "graded", "reward": 1.0, "error": None}
        if code is None
        else {
            "outcome": "ungradable",
            "reward": None,
            "error": {"code": code, "message": f"why {code}", "retryable": False},
        }
        for code in codes
    ]
    return assay.Results(made, [], [], [], [])


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.name == "assay"]
    caplog.clear()
    return found


def test_a_missing_reward_is_logged_with_its_code_and_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    missing = MissingRewards()
    missing.add(results(None, "a", None))
    assert messages(caplog) == ["1 of 3 completions so far have no reward, ungradable, `a`: why a"]
    missing.add(results("b", "a"))
    assert messages(caplog) == [
        "1 of 5 completions so far have no reward, ungradable, `b`: why b",
        "2 of 5 completions so far have no reward, ungradable, `a`: why a",
    ]
    # A reason is logged again when its count has doubled.
    logged = []
    for _ in range(100):
        missing.add(results("a"))
        logged += messages(caplog)
    assert [line.split()[0] for line in logged] == ["4", "8", "16", "32", "64"]


def test_a_run_without_any_reward_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    missing = MissingRewards()
    missing.add(results("a", "a", "b"))
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert messages(caplog) == [
        "none of the first 3 completions has a reward, so there is nothing to train on: "
        "2 ungradable, `a`: why a; 1 ungradable, `b`: why b; `assay check` finds such rows before "
        "training"
    ]
    missing.add(results("a"))
    assert messages(caplog) == []


def test_trainers_that_grade_one_completion_at_a_time_hear_of_it_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    missing = MissingRewards()
    for _ in range(8):
        missing.add(results("a"))
    assert "none of the first 8 completions" in messages(caplog)[-1]
    # The code of the first is logged at once.
    missing = MissingRewards()
    missing.add(results("a"))
    assert len(messages(caplog)) == 1


def test_the_first_step_of_a_run_says_why(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    columns: dict[str, Any] = {}
    reward = trl.Reward(node.url, name="assay")
    for _ in range(3):
        rewards = reward(
            ["p"] * 4, [RIGHT] * 4, task=[UNGRADABLE] * 4, log_extra=columns.__setitem__
        )
        assert rewards == [None] * 4
    message, *later = messages(caplog)
    assert [line.split()[0] for line in later] == ["8"]
    assert "none of the first 4 completions" in message and "`gold_unparsable`: " in message
    assert all(error.startswith("gold_unparsable: ") for error in columns["error"])
