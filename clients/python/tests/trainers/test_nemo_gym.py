"""NeMo Gym's client and types with the node as a resources server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from support import Node

# Only the collection of rollouts uses it, and it is not installed.
sys.modules["mlflow"] = ModuleType("mlflow")
from nemo_gym import server_utils  # noqa: E402
from nemo_gym.base_resources_server import BaseVerifyRequest, BaseVerifyResponse  # noqa: E402
from nemo_gym.openai_utils import NeMoGymResponse  # noqa: E402
from nemo_gym.server_utils import ServerClient  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

del sys.modules["mlflow"]

GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


class VerifyRequest(BaseVerifyRequest):
    """A request with a column of the dataset, as environments declare it."""

    task: dict[str, str]


class VerifyResponse(BaseVerifyResponse):
    """A reply with the fields that trainers read."""

    mask_sample: bool
    failure_kind: str | None
    failure_reason: str | None


def request(answer: str, task: dict[str, str]) -> VerifyRequest:
    response = NeMoGymResponse.model_validate(
        {
            "id": "resp_1", "created_at": 1, "model": "m", "object": "response",
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
            "output": [
                {
                    "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": answer, "annotations": []}],
                }
            ],
        }
    )  # fmt: skip
    return VerifyRequest(
        responses_create_params={"input": [{"role": "user", "content": "1+1?"}]},
        response=response,
        task=task,
    )


def call(node: Node, method: str, path: str, **options: Any) -> Any:
    """Calls the node with NeMo Gym's client."""
    host, port = node.url.removeprefix("http://").split(":")
    server = {"resources_servers": {"assay": {"host": host, "port": int(port)}}}
    client = ServerClient(
        head_server_config={"host": host, "port": int(port)},
        global_config_dict=OmegaConf.create(
            {
                "assay": server,
                "global_aiohttp_connector_limit": 8,
                "global_aiohttp_connector_limit_per_host": 8,
            }
        ),
    )

    async def run() -> Any:
        # NeMo Gym keeps one session for its process, and each call here has its own loop.
        server_utils._GLOBAL_AIOHTTP_CLIENT = None
        request = client.request("assay", f"/compat/nemo-gym{path}", method, **options)
        # The client retries forever.
        reply = await asyncio.wait_for(request, 30)
        found = reply.status, await reply.json()
        await server_utils.get_global_aiohttp_client().close()
        return found

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def configuration(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """NeMo Gym reads its configuration from the command line."""
    empty = OmegaConf.create()
    monkeypatch.setattr(server_utils, "get_global_config_dict", lambda *rest, **options: empty)
    yield
    server_utils._GLOBAL_AIOHTTP_CLIENT = None


def test_verifies_rollouts(node: Node) -> None:
    for answer, reward in (("\\boxed{2}", 1.0), ("\\boxed{3}", 0.0)):
        sent = request(answer, GOLD)
        status, body = call(node, "POST", "/verify", json=sent)
        assert status == 200
        reply = VerifyResponse.model_validate(body)
        assert reply.reward == reward and not reply.mask_sample
        assert reply.response.output_text == answer


def test_masks_a_rollout_without_a_reward(node: Node) -> None:
    status, body = call(node, "POST", "/verify", json=request("\\boxed{2}", UNGRADABLE))
    reply = VerifyResponse.model_validate(body)
    assert status == 200 and reply.mask_sample
    assert reply.failure_kind == "assay:ungradable" and "gold_unparsable" in reply.failure_reason
    assert body["_ng_failure_class"] == "task_ungradable" and body["_ng_failure_terminal"]


def test_the_node_is_stateless(node: Node) -> None:
    assert call(node, "GET", "/reverify_mode") == (200, "stateless")
    assert call(node, "POST", "/seed_session", json={"x": 1}) == (200, {})
    status, closed = call(node, "POST", "/close_session", json={"reason": "completed"})
    assert status == 200 and closed["released"]
