"""slime with the adapter. slime has no package, so this replays how it calls a custom reward model
and a filter (source at 0b420f1): it loads functions by path, awaits the first with a sample or a
group, and calls the second with a group."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support import Node

import assay

GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}
FILTER = "assay.slime.check_graded"


@dataclass
class DynamicFilterOutput:
    """What a filter of slime returns."""

    keep: bool
    reason: str | None = None


@pytest.fixture
def reward_path(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The path of a function in a module with this way of treating missing rewards."""
    for name in ("slime", "slime.rollout", "slime.rollout.filter_hub"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    types = ModuleType("slime.rollout.filter_hub.base_types")
    types.DynamicFilterOutput = DynamicFilterOutput  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, types.__name__, types)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(missing: str) -> str:
        name = f"slime_rewards_{missing}"
        (tmp_path / f"{name}.py").write_text(
            f"import assay.slime\nreward = assay.slime.reward({node.url!r}, missing={missing!r})\n"
        )
        return f"{name}.reward"

    return write


def load_function(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def sample(task: Any, answer: int) -> SimpleNamespace:
    return SimpleNamespace(
        prompt="1+1?", response=f"\\boxed{{{answer}}}", label=json.dumps(task), metadata={},
        reward=None, remove_sample=False, custom_rm_path=None,
    )  # fmt: skip


def rewarded(arguments: SimpleNamespace, group: list[SimpleNamespace], by_group: bool) -> None:
    """Sets the rewards of a group, as slime does with and without `--group-rm`."""

    async def run() -> None:
        function = load_function(arguments.custom_rm_path)
        if by_group:
            rewards = await function(arguments, group)
            assert len(rewards) == len(group)
        else:
            rewards = await asyncio.gather(*(function(arguments, one) for one in group))
        for one, reward in zip(group, rewards):
            one.reward = reward

    asyncio.run(run())


@pytest.mark.parametrize("by_group", [False, True])
def test_rewards_are_numbers(reward_path: Any, by_group: bool) -> None:
    arguments = SimpleNamespace(custom_rm_path=reward_path("raise"))
    group = [sample(GOLD, 2), sample(GOLD, 3)]
    rewarded(arguments, group, by_group)
    assert [one.reward for one in group] == [1.0, 0.0]
    with pytest.raises(assay.NotGradedError):
        rewarded(arguments, [sample(GOLD, 2), sample(UNGRADABLE, 2)], by_group)


@pytest.mark.parametrize("by_group", [False, True])
def test_the_filter_drops_a_group_without_a_reward(reward_path: Any, by_group: bool) -> None:
    arguments = SimpleNamespace(
        custom_rm_path=reward_path("drop_group"), dynamic_sampling_filter_path=FILTER
    )
    for tasks, keeps in (([GOLD, GOLD], True), ([GOLD, UNGRADABLE], False)):
        group = [sample(task, 2) for task in tasks]
        rewarded(arguments, group, by_group)
        # Evaluation has no filter, and its mean must not count a missing reward as 0.
        assert math.isnan(sum(one.reward for one in group)) is not keeps
        output = load_function(arguments.dynamic_sampling_filter_path)(arguments, group)
        assert output == DynamicFilterOutput(keeps, None if keeps else "without_reward")


def test_a_masked_sample_is_removed_and_does_not_move_the_mean(reward_path: Any) -> None:
    arguments = SimpleNamespace(custom_rm_path=reward_path("mask"))
    group = [sample(GOLD, 2), sample(UNGRADABLE, 2), sample(GOLD, 3), sample(GOLD, 3)]
    rewarded(arguments, group, by_group=True)
    assert [one.remove_sample for one in group] == [False, True, False, False]
    assert group[1].reward == pytest.approx(1 / 3)
    # A group of one, and a group in which nothing was graded.
    for tasks in ([UNGRADABLE], [UNGRADABLE] * 2):
        group = [sample(task, 2) for task in tasks]
        rewarded(arguments, group, by_group=True)
        assert all(one.remove_sample for one in group)


def test_an_empty_group_is_an_error(reward_path: Any) -> None:
    arguments = SimpleNamespace(custom_rm_path=reward_path("mask"))
    with pytest.raises(ValueError, match="there are no items"):
        rewarded(arguments, [], by_group=True)
