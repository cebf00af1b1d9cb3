"""What adapters send with a completion: the prompt, facts about it, and keys of histories."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from closing import closing
from support import Node

import assay
from assay import areal, atropos, openrlhf, slime, trl, verl
from assay.rollouts import Rollouts

GOLD = {"type": "math", "answer": "4"}
RIGHT = "\\boxed{4}"
MESSAGES = [{"role": "user", "content": "2+2?"}]


class Sent:
    """The items that are sent, which the server grades."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.items: list[dict[str, Any]] = []
        make = Rollouts._items

        def recorded(*arguments: Any) -> list[dict[str, Any]]:
            made = make(*arguments)
            self.items += made
            return made

        monkeypatch.setattr(Rollouts, "_items", recorded)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    monkeypatch.setitem(globals(), "finish", closing(monkeypatch))
    return Sent(monkeypatch)


def finish(call: Any) -> Any:
    raise AssertionError("replaced by the fixture")


def test_trl_sends_prompts_and_tokens(node: Node, sent: Sent) -> None:
    reward = trl.Reward(node.url, max_completion_length=3)
    prompts = ["2+2?", MESSAGES]
    reward(prompts, [RIGHT] * 2, task=[GOLD] * 2, completion_ids=[[1, 2], [1, 2, 3]])
    assert [item["prompt"] for item in sent.items] == prompts
    assert [item["meta"] for item in sent.items] == [
        {"tokens": 2, "truncated": False},
        {"tokens": 3, "truncated": True},
    ]


def test_openrlhf_slime_and_areal_send_the_prompt(node: Node, sent: Sent) -> None:
    label = json.dumps(GOLD)
    openrlhf.reward_func(node.url)(["2+2?" + RIGHT], ["2+2?"], [label])
    sample = SimpleNamespace(
        prompt=MESSAGES, response=RIGHT, label=label, metadata={}, remove_sample=False,
        response_length=7, status=SimpleNamespace(value="truncated"),
    )  # fmt: skip
    finish(slime.reward(node.url)(SimpleNamespace(), sample))
    areal.Reward(node.url)("2+2?", RIGHT, [1], [2, 3], task=GOLD)
    finish(areal.AsyncReward(node.url)("2+2?", RIGHT, [1], [2, 3], task=GOLD))
    assert [item["prompt"] for item in sent.items] == ["2+2?", MESSAGES, "2+2?", "2+2?"]
    assert sent.items[1]["meta"] == {"tokens": 7, "truncated": True}
    assert [item["meta"] for item in sent.items[2:]] == [{"tokens": 2}] * 2


def test_atropos_and_verl_send_the_prompt_that_they_get(node: Node, sent: Sent) -> None:
    scorer = atropos.Scorer(node.url)
    finish(scorer.score({}, {"task": GOLD, "prompt": "2+2?"}, [RIGHT]))
    group = {"tokens": [[1, 2, 3]], "masks": [[-100, 2, 3]]}
    finish(scorer.score(group, {"task": GOLD}, [RIGHT], MESSAGES))
    assert sent.items[1]["meta"] == {"tokens": 2}
    score = verl.compute_score(node.url)
    extra = {"task": GOLD, "prompt": "2+2?"}
    finish(score("d", RIGHT, "4", extra))
    # The prompts of verl's datasets are arrays of numpy.
    finish(score("d", RIGHT, "4", {"task": GOLD}, prompt=numpy.array(MESSAGES, dtype=object)))
    assert [item["prompt"] for item in sent.items] == ["2+2?", MESSAGES, "2+2?", MESSAGES]


def test_the_prompt_is_a_column_or_a_function_of_the_row(node: Node, sent: Sent) -> None:
    row = {"task": GOLD, "question": "2+2?", "prompt": "other"}
    for option, prompt in (
        (None, "other"), ("question", "2+2?"), (lambda row: row["question"] + "!", "2+2?!"),
    ):  # fmt: skip
        Rollouts(node.url, prompt=option).reward(row, RIGHT)
        assert sent.items[-1]["prompt"] == prompt
    with pytest.raises(KeyError, match="no column `ask` with the prompt; the columns are `task`"):
        Rollouts(node.url, prompt="ask").reward(row, RIGHT)


def test_only_the_text_of_a_prompt_is_sent(node: Node, sent: Sent) -> None:
    class Image:
        def __init__(self, content: bytes) -> None:
            self.content = content

        def tobytes(self) -> bytes:
            return self.content

    prompts = [
        [
            {
                "role": "user",
                "content": [{"type": "image", "image": Image(content)}, "2+2?"],
            },
            {"role": "assistant", "content": None, "tool_calls": None},
        ]
        for content in (b"a", b"b", b"a")
    ]  # fmt: skip
    Rollouts(node.url).grade([{"task": GOLD}] * 3, [RIGHT] * 3, prompts=prompts)
    parts = [{"type": "image"}, "2+2?"]
    assert sent.items[0]["prompt"] == [
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None},
    ]
    # Prompts that differ in their images have histories of their own.
    keys = [item["prompt_key"] for item in sent.items]
    assert keys[0] == keys[2] != keys[1]


def test_histories_of_prompts_with_equal_golds_are_separate(node: Node, run: str) -> None:
    reward = trl.Reward(node.url, run=run)
    reward(["2+2?", "8/2?", "2+2?"], [RIGHT] * 3, task=[GOLD] * 3)
    rows = [{"task": GOLD, "index": 1}, {"task": GOLD, "index": 2}, {"task": GOLD, "index": 1}]
    Rollouts(node.url, run=run).grade(rows, [RIGHT] * 3)
    keys = [grade["prompt_key"] for grade in node.grades(run)]
    assert sorted(keys.count(key) for key in set(keys)) == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("option", "prompt", "is_open"),
    [
        (None, "2+2?<think>\n", True),
        (None, "Reason inside <think> tags. 2+2?", False),
        (None, MESSAGES, False),
        (True, MESSAGES, True),
        (False, "2+2?<think>", False),
    ],
)
def test_a_prompt_that_opens_the_reasoning_is_reported(
    node: Node, sent: Sent, option: bool | None, prompt: Any, is_open: bool
) -> None:
    rollouts = Rollouts(node.url, think_open=option)
    # The answer in the reasoning does not count.
    reward = rollouts.reward({"task": GOLD}, f"{RIGHT}</think>\\boxed{{5}}", prompt=prompt)
    assert reward == 0.0
    assert sent.items[0].get("meta", {}).get("think_open", False) is is_open


def test_a_reward_model_without_a_prompt_is_an_error_of_the_setup(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The node has no reward model; this is the result that one gives.
    error = {"code": "task_at_fault", "message": "`prompt` is missing", "retryable": False}
    result = {
        "outcome": "ungradable", "grader": "reward_model", "reward": None, "verdict": None,
        "error": error,
    }  # fmt: skip
    found = assay.Results([result], [], [], [], [])
    monkeypatch.setattr(assay.Client, "grade", lambda *arguments, **options: found)
    task = {"type": "reward_model"}
    reward = trl.Reward(node.url)
    assert reward(["2+2?"], [RIGHT], task=[task]) == [None]
    rollouts = Rollouts(node.url)
    with pytest.raises(assay.PromptMissingError, match="no prompt: `prompt` is missing; name the"):
        rollouts.grade([{"task": task}], [RIGHT])


def test_verl_rejects_rollouts_with_tools(node: Node) -> None:
    score = verl.compute_score(node.url)
    with pytest.raises(ValueError, match="4 turns.*the manager of `assay.verl_manager`"):
        asyncio.run(score("d", RIGHT, "4", {"task": GOLD, "num_turns": numpy.int32(4)}))
