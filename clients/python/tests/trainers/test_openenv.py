"""Environments of OpenEnv, served by its server and called by its clients."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest
import uvicorn
from support import Node

# Only environments with tools of MCP use it, and it excludes the version of verifiers.
for name in ("fastmcp", "fastmcp.client", "fastmcp.client.client"):
    sys.modules.setdefault(name, MagicMock())
from openenv.core.client_types import StepResult  # noqa: E402
from openenv.core.env_client import EnvClient  # noqa: E402
from openenv.core.env_server import create_fastapi_app  # noqa: E402

import assay  # noqa: E402
import assay.openenv  # noqa: E402
from assay.openenv import CodeAction, CodeEnv, CodeObservation, CodeState  # noqa: E402

TASK = {"type": "math", "answer": "285"}


@pytest.fixture
def served(node: Node) -> Iterator[str]:
    """URL of OpenEnv's server for environments on the node."""
    policy = {"veto": {"parts": ["session"]}}
    created = assay.openenv.environment(node.url, run="openenv", policy=policy)
    app = create_fastapi_app(created, CodeAction, CodeObservation, max_concurrent_envs=8)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def test_code_and_answer_of_an_episode(node: Node, served: str) -> None:
    with CodeEnv(base_url=served).sync() as env, CodeEnv(base_url=served).sync() as other:
        env.reset(seed=7, episode_id="e", task=TASK)
        other.reset()
        step = env.step(CodeAction(code="x = sum(n * n for n in range(10))\nprint(x)\nx"))
        assert (step.observation.stdout, step.observation.exit_code) == ("285\n", 0)
        assert step.observation.metadata["value"] == "285" and step.reward is None
        # Episodes do not share names.
        step = other.step(CodeAction(code="x"))
        assert step.observation.exit_code == 1 and "NameError" in step.observation.stderr
        state = env.state()
        assert (state.episode_id, state.step_count, state.last_exit_code) == ("e", 1, 0)
        step = env.step(CodeAction(answer="It is \\boxed{285}."))
        assert step.done and step.reward == 1.0
    client = assay.Client(node.url)
    grade = client.get(step.observation.metadata["grade"])
    assert grade.measures["session.calls"] == 1.0
    assert grade.components[0].verdict == "replayed"
    assert not client.replay(grade.grade).flipped


class CodingEnv(EnvClient[Any, Any, Any]):
    """As the client of OpenEnv's `coding_env` reads and writes, which is not in its package."""

    def _step_payload(self, action: Any) -> dict[str, Any]:
        return {"code": action}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Any]:
        observation = CodeObservation(**payload["observation"])
        return StepResult(observation=observation, reward=payload["reward"], done=payload["done"])

    def _parse_state(self, payload: dict[str, Any]) -> CodeState:
        return CodeState(**payload)


def test_the_client_of_the_coding_environment(served: str) -> None:
    with CodingEnv(base_url=served).sync() as env:
        env.reset()
        assert env.step("y = 1\nprint(y)").observation.stdout == "1\n"
        assert env.step("import sys; sys.exit(3)").observation.exit_code == 3
        env.reset()
        assert env.step("y").observation.exit_code == 1


def test_an_answer_without_a_reward_is_an_error(served: str) -> None:
    with CodeEnv(base_url=served).sync() as env:
        env.reset()
        with pytest.raises(RuntimeError, match="no task"):
            env.step(CodeAction(answer="1"))
        env.reset(task={"type": "math", "answer": ""})
        with pytest.raises(RuntimeError, match="gold_unparsable"):
            env.step(CodeAction(answer="1"))
