"""TRL's trainer with rewards of the service, of which some are missing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
import tiny
import torch
from support import Node
from trl import GRPOConfig, GRPOTrainer

import assay
from assay.trl import Reward

STEPS, GROUP = 3, 6
GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


class Steps:
    """What TRL computed at each step."""

    def __init__(self) -> None:
        self.rewards: list[list[float | None]] = []
        self.advantages: list[list[float]] = []


def some_fail() -> Callable[[Any], dict[str, Any]]:
    """Returns tasks, of which every third is at fault."""
    count = itertools.count()
    return lambda row: UNGRADABLE if next(count) % 3 == 2 else GOLD


def train(folder: Path, functions: list[Any], seed: int = 1, **options: Any) -> Steps:
    """Trains for some steps, and checks that the weights changed."""
    model, steps = tiny.model(seed), Steps()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    first, *others = functions

    def recorded(**columns: Any) -> Any:
        rewards = first(**columns)
        steps.rewards.append(list(rewards))
        return rewards

    recorded.__name__ = "recorded"
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[recorded, *others],
        args=GRPOConfig(
            output_dir=str(folder),
            per_device_train_batch_size=GROUP,
            num_generations=GROUP,
            max_completion_length=3,
            max_steps=STEPS,
            learning_rate=0.05,
            use_cpu=True,
            bf16=False,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            seed=seed,
            **options,
        ),
        train_dataset=datasets.Dataset.from_dict({"prompt": [tiny.QUESTION] * GROUP}),
        processing_class=tiny.tokenizer(),
    )
    generate = trainer._generate_and_score_completions

    def generate_and_keep(inputs: Any) -> Any:
        output = generate(inputs)
        steps.advantages.append(output["advantages"].tolist())
        return output

    trainer._generate_and_score_completions = generate_and_keep
    trainer.train()
    assert trainer.state.global_step == STEPS
    assert all(torch.isfinite(weight).all() for weight in model.parameters())
    if any(any(step) for step in steps.advantages):
        assert any(not torch.equal(before[name], w) for name, w in model.named_parameters())
    return steps


def expected(rewards: list[float | None]) -> list[float]:
    """The advantages of a group in which only the items with a reward are compared."""
    found = torch.tensor([one for one in rewards if one is not None])
    mean, deviation = found.mean(), found.std()
    return [0.0 if one is None else float((one - mean) / (deviation + 1e-4)) for one in rewards]


def test_a_missing_reward_does_not_train(node: Node, tmp_path: Path, run: str) -> None:
    steps = train(tmp_path, [Reward(node.url, task=some_fail(), run=run)])
    assert len(steps.rewards) == len(steps.advantages) == STEPS
    for rewards, advantages in zip(steps.rewards, steps.advantages):
        assert [position for position, one in enumerate(rewards) if one is None] == [2, 5]
        assert advantages == pytest.approx(expected(rewards), abs=1e-4)
    assert any(any(advantages) for advantages in steps.advantages)
    recorded = node.grades(run)
    assert {grade["step"] for grade in recorded} == set(range(STEPS))
    assert sum(grade["outcome"] == "ungradable" for grade in recorded) == 2 * STEPS


def test_a_reward_of_0_trains_as_a_wrong_answer(node: Node, tmp_path: Path) -> None:
    task = some_fail()
    with assay.Client(node.url) as client:

        def zero(completions: Any, **columns: Any) -> list[float]:
            items = [{"completion": text, "task": task({})} for text in completions]
            return client.grade(items).rewards_or(masked=0.0)

        steps = train(tmp_path, [zero])
    spurious = [advantages[position] for advantages in steps.advantages for position in (2, 5)]
    assert any(one < -0.1 for one in spurious), spurious


def test_other_functions_train_unless_they_are_gated(node: Node, tmp_path: Path) -> None:
    def length(completions: Any, **columns: Any) -> list[float]:
        return [float(position) for position in range(len(completions))]

    ungated = train(tmp_path / "ungated", [Reward(node.url, task=some_fail()), length])
    assert all(step[2] != 0.0 and step[5] != 0.0 for step in ungated.advantages)

    reward = Reward(node.url, task=some_fail())
    gated = train(tmp_path / "gated", [reward, reward.gate(length)])
    assert all(step[2] == 0.0 and step[5] == 0.0 for step in gated.advantages)
    assert any(any(step) for step in gated.advantages)


def test_a_dropped_group_has_no_advantages(node: Node, tmp_path: Path) -> None:
    steps = train(tmp_path, [Reward(node.url, task=some_fail(), missing="drop_group")])
    assert steps.advantages == [[0.0] * GROUP] * STEPS


def test_raise_stops_the_training(node: Node, tmp_path: Path) -> None:
    with pytest.raises(assay.NotGradedError, match=r"items\[2\]: ungradable"):
        train(tmp_path, [Reward(node.url, task=some_fail(), missing="raise")])


def test_normalize_then_sum_masks_too(node: Node, tmp_path: Path) -> None:
    reward = Reward(node.url, task=some_fail())
    options = {"multi_objective_aggregation": "normalize_then_sum"}
    steps = train(tmp_path, [reward], **options)
    assert all(step[2] == 0.0 and step[5] == 0.0 for step in steps.advantages)
