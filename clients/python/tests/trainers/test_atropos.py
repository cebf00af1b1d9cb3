"""An environment of Atropos with scores of the service."""

from __future__ import annotations

import asyncio
from typing import Any

from atroposlib.envs.base import BaseEnv
from support import Node

from assay.atropos import Scorer

GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}
GROUP = {"tokens": [[1], [2]], "masks": [[1], [2]]}


def sent(node: Node, task: Any, missing: str = "drop_group") -> tuple[list[Any], list[int]]:
    """The groups that an environment sends to the trainer, and whether it succeeded."""
    scorer = Scorer(node.url, missing=missing)
    groups: list[Any] = []

    class Env(BaseEnv):
        async def collect_trajectories(self, item: Any) -> Any:
            return await scorer.score({**GROUP}, item, ["\\boxed{2}", "\\boxed{3}"]), []

        async def handle_send_to_api(self, group: Any, item: Any = None, **options: Any) -> None:
            groups.append(group)

        async def evaluate(self, *arguments: Any, **options: Any) -> None:
            pass

        async def get_next_item(self) -> Any:
            return None

        async def setup(self) -> None:
            pass

    # The constructor connects to a trainer.
    env = object.__new__(Env)
    env.running_items = {"uuid": {"item": {"task": task}}}
    env.backlog, env.task_duration, env.task_successful = [], [], []
    env.succeeded_task_duration, env.failed_task_duration = [], []
    asyncio.run(env.handle_env("uuid"))
    return groups, env.task_successful


def test_the_group_has_scores(node: Node) -> None:
    assert sent(node, GOLD) == ([{**GROUP, "scores": [1.0, 0.0]}], [1])


def test_a_group_without_a_reward_is_not_sent(node: Node) -> None:
    for missing in ("drop_group", "raise"):
        assert sent(node, UNGRADABLE, missing) == ([], [0])
