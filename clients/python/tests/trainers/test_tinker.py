"""An environment of the Tinker cookbook, with its strategies for trajectories that fail."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import tinker
from support import Node
from tinker_cookbook.completers import TokensWithLogprobs
from tinker_cookbook.rl.problem_env import ProblemGroupBuilder
from tinker_cookbook.rl.rollout_strategy import FailFast, MinViableGroup

import assay
import assay.tinker

GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


class Renderer(SimpleNamespace):
    """Renders a conversation as nothing, and a token as an answer."""

    def get_stop_sequences(self) -> list[str]:
        return ["\n"]

    def build_generation_prompt(self, conversation: Any) -> tinker.ModelInput:
        return tinker.ModelInput.from_ints([0])

    def parse_response(self, tokens: list[int]) -> tuple[dict[str, str], bool]:
        return {"role": "assistant", "content": f"\\boxed{{{tokens[0]}}}"}, True


async def policy(observation: Any, stop: Any, **options: Any) -> TokensWithLogprobs:
    return TokensWithLogprobs(tokens=[2], maybe_logprobs=[0.0])


def group(node: Node, tasks: list[Any], strategy: Any) -> list[float]:
    """The rewards of a group."""
    created = assay.tinker.environment(node.url)
    rows = iter([{"task": task} for task in tasks])

    def environment() -> Any:
        return created(Renderer(), next(rows), "1+1?")

    builder = ProblemGroupBuilder(env_thunk=partial(environment), num_envs=len(tasks))
    result = asyncio.run(strategy.execute(builder, policy))
    return [sum(one.reward for one in found.transitions) for found in result.trajectories]


def test_returns_rewards(node: Node) -> None:
    assert group(node, [GOLD, {"type": "math", "answer": "3"}], FailFast()) == [1.0, 0.0]


def test_the_strategy_decides_about_a_trajectory_without_a_reward(node: Node) -> None:
    tasks = [GOLD, UNGRADABLE, GOLD]
    with pytest.raises(assay.NotGradedError):
        group(node, tasks, FailFast())
    strategy = MinViableGroup(min_successful=2, max_retries=0)
    assert group(node, tasks, strategy) == [1.0, 1.0]
