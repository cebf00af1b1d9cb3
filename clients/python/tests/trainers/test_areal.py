"""AReaL's reward wrapper, which calls the function in other processes.

The packages `areal` and `areal.api` import engines for GPUs, so only the module is imported.
"""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import Node, free_port

import assay
from assay.areal import AsyncReward, Reward

FOLDER = Path(str(distribution("areal").locate_file("areal")))
for name in ("areal", "areal.api", "areal.utils"):
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(FOLDER.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
from areal.api.reward_api import AsyncRewardWrapper  # noqa: E402

GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


def rewarded(function: Any, answer: str, task: Any) -> float:
    wrapper = AsyncRewardWrapper(function, max_workers=1, max_retries=1)
    found: float = asyncio.run(wrapper("1+1?", answer, [1], [2], task=task))
    return found


def test_calls_the_function_in_another_process(node: Node) -> None:
    assert rewarded(Reward(node.url), "\\boxed{2}", GOLD) == 1.0
    assert rewarded(Reward(node.url), "\\boxed{3}", GOLD) == 0.0


def test_a_function_without_a_name_reaches_the_other_process(node: Node) -> None:
    reward = Reward(node.url, task=lambda row: {"type": "math", "answer": row["task"]})
    assert rewarded(reward, "\\boxed{2}", "2") == 1.0


def test_an_item_without_a_reward_is_an_error(node: Node) -> None:
    with pytest.raises(assay.NotGradedError):
        rewarded(Reward(node.url), "\\boxed{2}", UNGRADABLE)


def test_a_server_that_is_down_is_an_error(node: Node) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(assay.AssayError):
        rewarded(Reward(url, deadline=0.5), "\\boxed{2}", GOLD)
    # A plain function ends with a `TimeoutError`, which AReaL turns into a reward of 0.
    plain = assay.Rollouts(url, deadline=0.5).reward
    assert rewarded(PlainReward(plain), "\\boxed{2}", GOLD) == 0


def test_the_queue_of_the_pool_gives_zeros_and_the_asynchronous_function_errors() -> None:
    url = f"http://127.0.0.1:{free_port()}"

    async def rewards(function: Any) -> list[Any]:
        calls = [function("1+1?", "\\boxed{2}", [1], [2], task=GOLD) for _ in range(8)]
        return await asyncio.gather(*calls, return_exceptions=True)

    pooled = AsyncRewardWrapper(
        Reward(url, deadline=0.4), timeout_seconds=0.5, max_workers=1, max_retries=0
    )
    assert 0 in asyncio.run(rewards(pooled))
    found = asyncio.run(rewards(AsyncReward(url, deadline=0.4)))
    assert len(found) == 8 and all(isinstance(error, assay.AssayError) for error in found)


class PlainReward:
    """A reward function without the adapter."""

    def __init__(self, reward: Any) -> None:
        self.reward = reward

    def __call__(self, prompt: str, completions: str, *ids: Any, **row: Any) -> float:
        found: float = self.reward(row, completions)
        return found
