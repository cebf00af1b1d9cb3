"""Servers that fail under the adapters that need their trainers: an error, and never a number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import test_tinker
import test_verifiers
import tiny
import torch
from support import Exchange, Fault, FaultProxy, Node, lost_reply, lost_request, rejected

import assay
import assay.openreward
import assay.roll
import assay.skyrl
import assay.tinker
import assay.verifiers

GOLD = {"type": "math", "answer": "2"}
RIGHT, WRONG = "\\boxed{2}", "\\boxed{3}"

# Calls an adapter with the URL of a server, a completion and a deadline, and returns the reward.
Call = Callable[[str, Any, float], Any]


def of_skyrl(url: str, completion: Any, deadline: float) -> Any:
    made = assay.skyrl.environment(url, missing="mask", deadline=deadline)
    return made(extras={"task": GOLD}).step(completion)["reward"]


def of_verifiers(url: str, completion: Any, deadline: float) -> Any:
    class Graded(test_verifiers.vf.Task[test_verifiers.Data]):
        correct = assay.verifiers.reward(url, task=lambda row: GOLD, deadline=deadline)

    trace = test_verifiers.Trace(completion)
    asyncio.run(Graded(test_verifiers.Data(answer="2")).score(trace))  # type: ignore[arg-type]
    return trace.rewards["assay"].score


def of_openreward(url: str, completion: Any, deadline: float) -> Any:
    rows = [{"question": "?", "task": GOLD}]
    made = assay.openreward.environment("math", rows, url, missing="mask", deadline=deadline)
    answer = assay.openreward.Answer.model_construct(answer=completion)
    return asyncio.run(made(task_spec=rows[0]).submit(answer)).reward


def of_tinker(url: str, completion: Any, deadline: float) -> Any:
    class Renderer(test_tinker.Renderer):
        def parse_response(self, tokens: list[int]) -> tuple[dict[str, Any], bool]:
            return {"role": "assistant", "content": completion}, True

    made = assay.tinker.environment(url, deadline=deadline)
    environment = made(Renderer(), {"task": GOLD}, "1+1?")

    async def run() -> Any:
        await environment.initial_observation()
        return (await environment.step([0])).reward

    return asyncio.run(run())


def of_roll(url: str, completion: Any, deadline: float) -> Any:
    rewards = assay.roll.Rewards(url, columns=("task",), deadline=deadline)
    tokenizer = tiny.tokenizer()
    data = SimpleNamespace(
        batch={"responses": torch.tensor([tokenizer(completion)["input_ids"]])},
        non_tensor_batch={"task": numpy.array([GOLD], dtype=object)},
    )
    return float(rewards(data, tokenizer)["scores"][0])


ADAPTERS: dict[str, Call] = {
    "skyrl": of_skyrl,
    "verifiers": of_verifiers,
    "openreward": of_openreward,
    "tinker": of_tinker,
    "roll": of_roll,
}
adapters = pytest.mark.parametrize("name", ADAPTERS)


def failed(exchange: Exchange) -> None:
    """The grader fails."""
    status, headers, body = exchange.forward()
    reply = json.loads(body)
    for result in reply["results"]:
        error = {"code": "sandbox_failed", "message": "the sandbox failed", "retryable": True}
        result.update({"outcome": "failed", "reward": None, "pass": None, "error": error})
    exchange.answer(status, headers, json.dumps(reply).encode())


FAULTS: dict[str, Fault] = {
    "killed before": lost_request,
    "killed after": lost_reply,
    "overloaded": rejected(429, "overloaded", "0.1"),
    "unavailable": rejected(503, "store_unavailable", "0.1"),
    "grader failed": failed,
}


@adapters
def test_answers_have_numbers(node: Node, name: str) -> None:
    assert ADAPTERS[name](node.url, RIGHT, 30.0) == 1.0
    assert ADAPTERS[name](node.url, WRONG, 30.0) == 0.0


@pytest.mark.parametrize("fault", FAULTS)
@adapters
def test_no_failure_is_a_number(node: Node, name: str, fault: str) -> None:
    proxy = FaultProxy(node.url, [FAULTS[fault]] * 1000)
    try:
        found = ADAPTERS[name](proxy.url, RIGHT, 0.5)
    except Exception as error:
        found = error
    proxy.close()
    assert proxy.faults > 0
    is_masked = found is None or (isinstance(found, float) and found != found)
    assert isinstance(found, Exception) or is_masked, found


@pytest.mark.parametrize("completion", [None, 4, [4], {"content": RIGHT}], ids=repr)
@adapters
def test_a_completion_of_another_type_is_an_error(node: Node, name: str, completion: Any) -> None:
    with pytest.raises(Exception):  # noqa: B017, each trainer has its own
        ADAPTERS[name](node.url, completion, 30.0)
