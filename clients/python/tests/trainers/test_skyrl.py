"""An environment of SkyRL, and what its generator makes of a trajectory without a reward."""

from __future__ import annotations

import math
from typing import Any

import pytest
import skyrl_gym
from support import Node

import assay
import assay.skyrl

GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


def episode(environment: Any, answer: str) -> Any:
    prompt, _ = environment.init([{"role": "user", "content": "1+1?"}])
    assert prompt[0]["content"] == "1+1?"
    return environment.step(answer)


def test_grades_the_first_action(node: Node) -> None:
    created = assay.skyrl.environment(node.url)
    skyrl_gym.register(id="assay", entry_point=lambda **options: created(**options))
    for answer, reward in (("\\boxed{2}", 1.0), ("\\boxed{3}", 0.0)):
        environment = skyrl_gym.make(
            "assay", env_config={}, extras={"task": GOLD, "reward_spec": {"ground_truth": "2"}}
        )
        output = episode(environment, answer)
        assert output["reward"] == reward and output["done"]
        assert environment.get_metrics() == {"graded": 1.0}


def test_an_action_without_a_reward_is_an_error(node: Node) -> None:
    environment = assay.skyrl.environment(node.url)(extras={"task": UNGRADABLE})
    with pytest.raises(assay.NotGradedError):
        episode(environment, "\\boxed{2}")


def test_the_generator_masks_what_has_no_reward(node: Node) -> None:
    created = assay.skyrl.environment(node.url, missing="mask")
    plan = [(GOLD, 2), (GOLD, 3), (UNGRADABLE, 2), (GOLD, 3)]
    rewards = [
        episode(created(extras={"task": task}), f"\\boxed{{{answer}}}")["reward"]
        for task, answer in plan
    ]
    assert math.isnan(rewards[2])
    masks = [[1, 1]] * 4
    output = assay.skyrl.mask({"rewards": rewards, "loss_masks": list(masks)}, ["p"] * 4)
    assert output["rewards"] == pytest.approx([1.0, 0.0, 1 / 3, 0.0])
    assert output["loss_masks"] == [[1, 1], [1, 1], [0, 0], [1, 1]]
    by_token = [[0.0, one] for one in rewards]
    output = assay.skyrl.mask({"rewards": by_token, "loss_masks": list(masks)}, ["p"] * 4)
    assert output["rewards"][2] == pytest.approx([0.0, 1 / 3])
