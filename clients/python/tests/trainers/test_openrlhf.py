"""OpenRLHF's client with rewards of the service, of which some are missing.

The module that filters samples imports vLLM, which has no build for this machine; its import is
replaced, and what the test runs of it is its own.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from openrlhf.utils.agent import SingleTurnAgentExecutor
from support import Node

GOLD = json.dumps({"type": "math", "answer": "2"})
UNGRADABLE = json.dumps({"type": "math", "answer": ""})


class Engine:
    """Generates a given answer, as vLLM returns it."""

    def __init__(self, answer: str) -> None:
        self.tokens = tiny.tokenizer()(answer)["input_ids"]

    async def generate(self, tokens: Any, parameters: Any, multi_modal_data: Any) -> Any:
        output = SimpleNamespace(token_ids=self.tokens, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def sample(url: str, answer: str, label: str) -> dict[str, Any]:
    """What OpenRLHF's executor makes of a prompt."""
    executor = SingleTurnAgentExecutor(url)
    parameters = SimpleNamespace(max_tokens=4, logprobs=None)
    found: dict[str, Any] = asyncio.run(
        executor.execute(tiny.QUESTION, label, parameters, 32, tiny.tokenizer(), Engine(answer))
    )
    return found


def file(folder: Path, node: Node, missing: str) -> str:
    path = folder / "reward_func.py"
    path.write_text(
        "import assay.openrlhf\n"
        f"reward_func = assay.openrlhf.reward_func({node.url!r}, missing={missing!r})\n"
    )
    return str(path)


def test_the_function_file_returns_rewards(node: Node, tmp_path: Path) -> None:
    url = file(tmp_path, node, "raise")
    assert sample(url, "\\boxed{2}", GOLD)["reward"] == 1.0
    assert sample(url, "\\boxed{3}", GOLD)["reward"] == 0.0
    # The executor logs the error. The sample has no reward, not a reward of 0.
    assert sample(url, "\\boxed{2}", UNGRADABLE)["reward"] is None


def test_the_route_returns_rewards(node: Node) -> None:
    url = f"{node.url}/compat/openrlhf/grade"
    found = sample(url, "\\boxed{2}", GOLD)
    assert found["reward"] == [1.0] and found["scores"] == [1.0]
    assert sample(url, "\\boxed{3}", GOLD)["reward"] == [0.0]


def test_the_route_never_returns_0_for_a_missing_reward(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(seconds: float) -> None:
        pass

    # The client waits a second before each of its five tries.
    monkeypatch.setattr("openrlhf.utils.agent.asyncio.sleep", at_once)
    found = sample(f"{node.url}/compat/openrlhf/grade", "\\boxed{2}", UNGRADABLE)
    assert found["reward"] is None and found["scores"] is None


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class that generates samples, without vLLM."""
    fake = ModuleType("vllm")
    fake.SamplingParams = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", fake)
    for name in ("openrlhf.trainer.ray.vllm_engine", "openrlhf.trainer.ray.utils"):
        stub = ModuleType(name)
        stub.batch_vllm_engine_call = None  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, stub)
    from openrlhf.trainer.ppo_utils import samples_generator

    ray = SimpleNamespace(
        wait=lambda refs, **options: (refs[:1], refs[1:]), get=lambda reference: reference
    )
    monkeypatch.setattr(samples_generator, "ray", ray)
    made = object.__new__(samples_generator.SamplesGenerator)
    made.tokenizer = tiny.tokenizer()
    made.args = SimpleNamespace(
        algo=SimpleNamespace(dynamic_filtering_range=(0.0, 1.0)), rollout=SimpleNamespace()
    )
    return made


def test_dynamic_filtering_drops_the_group(node: Node, tmp_path: Path, generator: Any) -> None:
    url = file(tmp_path, node, "drop_group")
    answers = ["\\boxed{2}", "\\boxed{3}"]
    complete = [sample(url, answer, GOLD) for answer in answers]
    without = [sample(url, answers[0], GOLD), sample(url, answers[1], UNGRADABLE)]
    assert math.isnan(without[1]["reward"])
    groups = {"first": without, "second": complete}
    generator._dispatch_prompts_to_vllm = lambda prompts, *rest, **options: [
        groups[prompt] for prompt in prompts
    ]
    batches = iter([([], ["first"], [""], [None]), ([], ["second"], [""], [None])])
    experiences, consumed, _ = generator._generate_vllm(batches, 1, True)
    # The group with the sample without a reward was replaced by the next prompt.
    assert consumed == 2
    rewards = torch.cat([one.rewards for one in experiences])
    assert rewards.tolist() == [1.0, 0.0]
