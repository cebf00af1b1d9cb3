"""An environment of RLlib whose rewards come from the service."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy
import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from support import Node

import assay

ANSWERS = ["\\boxed{2}", "\\boxed{3}"]
GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


Observation = numpy.ndarray[Any, Any]


class Question(gymnasium.Env[Observation, int]):
    """One question; an action is one of two answers."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)
    # Questions that were asked, in all environments.
    asked = 0

    def __init__(self, config: dict[str, Any]) -> None:
        self._rollouts = assay.Rollouts(config["server"])
        self._tasks = config["tasks"]

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._task = self._tasks[Question.asked % len(self._tasks)]
        Question.asked += 1
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        reward = self._rollouts.reward({"task": self._task}, ANSWERS[int(action)])
        return numpy.ones(1, numpy.float32), reward, True, False, {}


def runner(node: Node, tasks: list[Any], restarts: bool) -> SingleAgentEnvRunner:
    config = (
        PPOConfig()
        .environment(Question, env_config={"server": node.url, "tasks": tasks})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=1, gym_env_vectorize_mode="sync")
        .fault_tolerance(restart_failed_sub_environments=restarts)
    )
    Question.asked = 0
    return SingleAgentEnvRunner(config=config)


def test_rewards_reach_the_episodes(node: Node) -> None:
    episodes = runner(node, [GOLD], restarts=False).sample(num_episodes=8, random_actions=True)
    assert len(episodes) == 8
    for episode in episodes:
        right = int(episode.get_actions(0)) == 0
        assert episode.get_return() == (1.0 if right else 0.0)


def test_an_episode_without_a_reward_is_not_returned(node: Node) -> None:
    made = runner(node, [GOLD, UNGRADABLE], restarts=True)
    episodes = made.sample(num_episodes=6, random_actions=True)
    # Questions without a reward were asked, but no episode has one.
    assert Question.asked >= 9
    assert len(episodes) == 6
    for episode in episodes:
        right = int(episode.get_actions(0)) == 0
        assert (len(episode), episode.get_return()) == (1, 1.0 if right else 0.0)


def test_without_restarts_the_error_stops_the_sampling(node: Node) -> None:
    with pytest.raises(RuntimeError) as raised:
        runner(node, [UNGRADABLE], restarts=False).sample(num_episodes=1, random_actions=True)
    assert isinstance(raised.value.__cause__, assay.NotGradedError)
