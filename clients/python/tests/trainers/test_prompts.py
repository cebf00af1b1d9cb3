"""What the adapters that need their trainers send with a completion."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import test_roll
import test_skyrl
import test_tinker
import tiny
import torch
import verifiers.v1 as vf
from support import Node

import assay
import assay.openreward
import assay.roll
import assay.skyrl
import assay.tinker
import assay.verifiers

GOLD = {"type": "math", "answer": "2"}
RIGHT = "\\boxed{2}"
QUESTION = "1+1?"
MESSAGES = [{"role": "user", "content": QUESTION}]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The items that are sent, which the server grades."""
    items: list[dict[str, Any]] = []
    make = assay.Rollouts._items

    def recorded(*arguments: Any) -> list[dict[str, Any]]:
        items.extend(made := make(*arguments))
        return made

    monkeypatch.setattr(assay.Rollouts, "_items", recorded)
    return items


def test_skyrl_sends_the_messages(node: Node, sent: list[dict[str, Any]]) -> None:
    environment = assay.skyrl.environment(node.url)(extras={"task": GOLD})
    assert test_skyrl.episode(environment, RIGHT)["reward"] == 1.0
    assert sent[0]["prompt"] == MESSAGES


def test_roll_sends_the_text_of_the_prompt(node: Node, sent: list[dict[str, Any]]) -> None:
    data = test_roll.batch([RIGHT], [GOLD])
    tokenizer = tiny.tokenizer()
    # Columns of `non_tensor_batch` count if the tokens are missing.
    assay.roll.Rewards(node.url, columns=("task", "prompt"))(data, tokenizer)
    data.batch["prompts"] = torch.tensor([[0, 0, *tokenizer(tiny.QUESTION)["input_ids"]]])
    data.batch["response_mask"] = torch.tensor([[0] * 8 + [1, 1, 0]])
    assay.roll.Rewards(node.url, columns=("task",))(data, tokenizer)
    assert [item["prompt"] for item in sent] == [QUESTION, tiny.QUESTION]
    assert [item["meta"] for item in sent] == [{"tokens": 3}, {"tokens": 2}]


class Data(vf.TaskData):
    """The data of a task."""

    task: dict[str, str]


def test_verifiers_sends_the_prompt_of_the_task(node: Node, sent: list[dict[str, Any]]) -> None:
    class Graded(vf.Task[Data]):
        correct = assay.verifiers.reward(node.url)

    class Trace(SimpleNamespace):
        record_reward = vf.Trace.record_reward

    for prompt in (QUESTION, [vf.UserMessage(content=QUESTION)]):
        trace = Trace(last_reply=RIGHT, rewards={}, metrics={}, info={}, is_truncated=True)
        data = Data(task=GOLD, prompt=prompt, system_prompt="Add.")
        asyncio.run(Graded(data).score(trace))  # type: ignore[arg-type]
        assert trace.rewards["assay"].score == 1.0
    for item in sent:
        system, user = item["prompt"]
        assert system == {"role": "system", "content": "Add."}
        assert (user["role"], user["content"]) == ("user", QUESTION)
        assert item["meta"] == {"truncated": True}


def test_openreward_sends_the_prompt(node: Node, sent: list[dict[str, Any]]) -> None:
    rows = [{"question": QUESTION, "text": "other", "task": GOLD}]
    for options, prompt in (({}, QUESTION), ({"prompt": "text"}, "other")):
        made = assay.openreward.environment("math", rows, node.url, **options)(task_spec=rows[0])
        assert made.get_prompt()[0].text == prompt
        answer = assay.openreward.Answer(answer=RIGHT)
        assert asyncio.run(made.submit(answer)).reward == 1.0
        assert sent[-1]["prompt"] == prompt


def test_tinker_sends_the_question(node: Node, sent: list[dict[str, Any]]) -> None:
    environment = assay.tinker.environment(node.url)
    made = environment(test_tinker.Renderer(), {"task": GOLD}, QUESTION)
    assert asyncio.run(made.step([2])).reward == 1.0
    assert sent[0]["prompt"] == QUESTION
    assert sent[0]["meta"] == {"tokens": 1, "truncated": False}
