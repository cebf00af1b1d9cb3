"""ROLL's reward worker with the adapter. ROLL has no package, so this replays how its workers are
called (source at ef37950): `compute_rewards` gets a `DataProto` and a tokenizer, and returns the
tensors of one. verl's `DataProto`, from which ROLL's derives, stands for it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import tiny
import torch
from support import Node, free_port
from verl import DataProto

import assay
import assay.roll

GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


def batch(answers: list[str], tasks: list[Any]) -> DataProto:
    """Responses that are padded, and the columns of their rows."""
    tokenizer = tiny.tokenizer()
    responses = [[*tokenizer(answer)["input_ids"], 1, 0] for answer in answers]
    return DataProto.from_dict(
        tensors={"responses": torch.tensor(responses)},
        non_tensors={
            "task": numpy.array(tasks, dtype=object),
            "prompt": numpy.array(["1+1?"] * len(answers), dtype=object),
        },
    )


def test_the_tensors_are_those_of_a_reward_worker(node: Node) -> None:
    rewards = assay.roll.Rewards(node.url, columns=("task", "prompt"))
    data = batch(["\\boxed{2}", "\\boxed{3}", "\\boxed{2}"], [GOLD] * 3)
    output = DataProto.from_dict(tensors=rewards(data, tiny.tokenizer()))
    assert set(output.batch.keys()) == {"scores", "token_level_rewards", "response_level_rewards"}
    for name in ("scores", "response_level_rewards"):
        assert output.batch[name].tolist() == [1.0, 0.0, 1.0]
    assert output.batch["token_level_rewards"].shape == data.batch["responses"].shape
    assert data.union(output).batch["scores"].is_floating_point()


def test_an_item_without_a_reward_is_an_error(node: Node) -> None:
    data = batch(["\\boxed{2}"] * 2, [GOLD, UNGRADABLE])
    with pytest.raises(assay.NotGradedError, match=r"items\[1\]: ungradable"):
        assay.roll.Rewards(node.url, columns=("task",))(data, tiny.tokenizer())
    down = assay.roll.Rewards(f"http://127.0.0.1:{free_port()}", columns=("task",), deadline=1)
    with pytest.raises(assay.AssayError):
        down(data, tiny.tokenizer())
