"""NeMo Gym's client and types with the node as a resources server."""

from __future__ import annotations

import asyncio
import json
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
from nemo_gym.config_types import AggregateMetrics, AggregateMetricsRequest  # noqa: E402
from nemo_gym.failure_kinds import is_namespaced  # noqa: E402
from nemo_gym.openai_utils import NeMoGymResponse  # noqa: E402
from nemo_gym.reward_profile import compute_aggregate_metrics  # noqa: E402
from nemo_gym.server_utils import ServerClient  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

import assay  # noqa: E402

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


def server_client(node: Node) -> ServerClient:
    """NeMo Gym's client, with the node as the server `assay`."""
    host, port = node.url.removeprefix("http://").split(":")
    server = {"resources_servers": {"assay": {"host": host, "port": int(port)}}}
    return ServerClient(
        head_server_config={"host": host, "port": int(port)},
        global_config_dict=OmegaConf.create(
            {
                "assay": server,
                "global_aiohttp_connector_limit": 8,
                "global_aiohttp_connector_limit_per_host": 8,
            }
        ),
    )


def call(node: Node, method: str, path: str, **options: Any) -> Any:
    """Calls the node with NeMo Gym's client."""
    client = server_client(node)

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
    assert is_namespaced(reply.failure_kind)
    assert (
        reply.failure_kind == "assay:gold_unparsable" and "gold_unparsable" in reply.failure_reason
    )
    assert body["_ng_failure_class"] == "task_ungradable" and body["_ng_failure_terminal"]


def collected(node: Node, answers: list[str], tasks: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Rollouts as NeMo Gym sends them to be aggregated: without long texts, with their indices."""
    rollouts = []
    for position, (answer, task) in enumerate(zip(answers, tasks)):
        status, body = call(node, "POST", "/verify", json=request(answer, task))
        assert status == 200
        kept = {k: v for k, v in body.items() if k not in ("response", "responses_create_params")}
        kept["response"] = {"usage": {"output_tokens": 7 + position}}
        rollouts.append(kept | {"_ng_task_index": position // 2, "_ng_rollout_index": position % 2})
    return rollouts


def aggregated(node: Node, rollouts: list[dict[str, Any]]) -> AggregateMetrics:
    sent = AggregateMetricsRequest(verify_responses=rollouts)
    status, body = call(node, "POST", "/aggregate_metrics", json=sent)
    assert status == 200
    return AggregateMetrics.model_validate(body)


def comparable(metrics: dict[str, Any]) -> dict[str, Any]:
    """Those that the node has too, which are all except those across repeats."""
    return {name: value for name, value in metrics.items() if "_across_repeats/" not in name}


def test_statistics_are_those_of_its_own_servers(node: Node) -> None:
    answers = ["\\boxed{2}", "\\boxed{3}", "\\boxed{2}", "\\boxed{2}"]
    rollouts = collected(node, answers, [GOLD] * 4)
    ours, theirs = aggregated(node, rollouts), compute_aggregate_metrics(rollouts)
    assert comparable(ours.agent_metrics) == pytest.approx(comparable(theirs.agent_metrics))
    assert ours.agent_metrics["mean/reward"] == 0.75
    for group, other in zip(ours.group_level_metrics, theirs.group_level_metrics):
        assert group == pytest.approx({name: other[name] for name in group})
        assert {name for name in other if "/" in name} <= set(group)


def test_statistics_leave_out_what_has_no_reward(node: Node) -> None:
    rollouts = collected(node, ["\\boxed{2}"] * 2, [GOLD, UNGRADABLE])
    ours, theirs = aggregated(node, rollouts), compute_aggregate_metrics(rollouts)
    assert ours.key_metrics == pytest.approx(theirs.key_metrics)
    assert comparable(ours.agent_metrics) == pytest.approx(comparable(theirs.agent_metrics))
    assert ours.key_metrics["mean/reward"] == 1.0
    assert ours.key_metrics["coverage/masked_rollouts"] == 1


def test_a_response_without_a_message_is_an_empty_answer(node: Node) -> None:
    # As for NeMo Gym's own servers, whose `output_text` is then empty.
    sent = request("", GOLD).model_dump()
    sent["response"]["output"] = [{"id": "r", "type": "reasoning", "summary": []}]
    assert NeMoGymResponse.model_validate(sent["response"]).output_text == ""
    status, body = call(node, "POST", "/verify", json=sent)
    assert (status, body["reward"], body["mask_sample"]) == (200, 0.0, False)


def posted(node: Node, path: str, sent: Any, cookies: Any) -> tuple[Any, Any]:
    """Calls a tool as agents do, and returns the reply with the cookies for the next call."""
    client = server_client(node)

    async def run() -> Any:
        server_utils._GLOBAL_AIOHTTP_CLIENT = None
        path_of_node = f"/compat/nemo-gym{path}"
        reply = await client.post("assay", path_of_node, json=sent, cookies=cookies)
        found = json.loads((await reply.content.read()).decode()), reply.cookies
        await server_utils.get_global_aiohttp_client().close()
        return found

    return asyncio.run(run())


def test_a_rollout_calls_tools_in_its_session(node: Node) -> None:
    _, cookies = posted(node, "/seed_session", {}, None)
    code = {"code": "x = 1 + 1\nprint(x)\nx"}
    reply, cookies = posted(node, "/execute_python", code, cookies)
    expected = {
        "success": True,
        "stdout": "2\n",
        "stderr": "",
        "error_message": None,
        "result": "2",
    }
    assert reply == expected
    reply, cookies = posted(node, "/execute_python", {"code": "x / 0"}, cookies)
    assert not reply["success"]
    assert reply["error_message"] == "ZeroDivisionError: division by zero"
    other, _ = posted(node, "/execute_python", {"code": "x"}, None)
    assert other["error_message"] == "NameError: name 'x' is not defined"
    body, _ = posted(node, "/verify", request("\\boxed{2}", GOLD), cookies)
    assert body["reward"] == 1.0
    grade = assay.Client(node.url).get(body["grade"])
    assert grade.measures["session.calls"] == 2.0
    assert grade.measures["session.failed_calls"] == 1.0
    closed, _ = posted(node, "/close_session", {}, cookies)
    assert closed["released"]
    reply, _ = posted(node, "/execute_python", {"code": "x"}, cookies)
    assert reply["error_message"] == "NameError: name 'x' is not defined"


def test_the_node_is_stateless(node: Node) -> None:
    assert call(node, "GET", "/reverify_mode") == (200, "stateless")
    assert call(node, "POST", "/seed_session", json={"x": 1}) == (200, {})
    status, closed = call(node, "POST", "/close_session", json={"reason": "completed"})
    assert status == 200 and closed["released"]
