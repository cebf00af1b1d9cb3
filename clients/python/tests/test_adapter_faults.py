"""Servers that fail, and replies that are wrong, under each adapter that needs no trainer: the
trainer gets an error or what it leaves out, and never a number."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from closing import closing
from support import (
    Exchange,
    Fault,
    FaultProxy,
    Node,
    bad_gateway,
    cut_in_half,
    lost_reply,
    lost_request,
    rejected,
)

import assay
from assay import areal, atropos, openrlhf, slime, trl, verl

GOLD = {"type": "math", "answer": "4"}
UNGRADABLE = {"type": "math", "answer": ""}
RIGHT, WRONG = "\\boxed{4}", "\\boxed{5}"
DEADLINE = 30.0
# Seconds in which a server that fails is tried again.
SHORT_DEADLINE = 0.3

# Calls an adapter with the URL of a server, a task, a completion and a deadline. Returns the
# reward; none if the trainer leaves the completion out.
Call = Callable[[str, Any, Any, float], Any]


@pytest.fixture(autouse=True)
def close_clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trainers leave connections open, and each call here has a loop of its own."""
    monkeypatch.setitem(globals(), "finish", closing(monkeypatch))
    yield


def finish(call: Any) -> Any:
    raise AssertionError("replaced by the fixture")


def number(value: float) -> float | None:
    return None if math.isnan(value) else value


def of_trl(missing: str) -> Call:
    def call(url: str, task: Any, completion: Any, deadline: float) -> Any:
        reward = trl.Reward(url, missing=missing, deadline=deadline)
        return reward(prompts=["p"], completions=[completion], task=[task])[0]

    return call


def of_verl(missing: str) -> Call:
    def call(url: str, task: Any, completion: Any, deadline: float) -> Any:
        score = verl.compute_score(url, missing=missing, deadline=deadline)
        return number(finish(score("d", completion, "4", {"task": task}))["score"])

    return call


def of_openrlhf(missing: str) -> Call:
    def call(url: str, task: Any, completion: Any, deadline: float) -> Any:
        rewards = openrlhf.reward_func(url, missing=missing, deadline=deadline)
        return number(rewards([completion], [""], [json.dumps(task)])["rewards"])

    return call


def of_slime(missing: str) -> Call:
    def call(url: str, task: Any, completion: Any, deadline: float) -> Any:
        reward = slime.reward(url, missing=missing, deadline=deadline)
        arguments = SimpleNamespace(dynamic_sampling_filter_path=slime.FILTER)
        sample = SimpleNamespace(
            prompt="", response=completion, label=json.dumps(task), metadata={}, remove_sample=False
        )
        value = finish(reward(arguments, [sample]))[0]
        return None if sample.remove_sample else value

    return call


def of_areal(url: str, task: Any, completion: Any, deadline: float) -> Any:
    try:
        return areal.Reward(url, deadline=min(deadline, 12.0))("p", completion, task=task)
    except TimeoutError:
        # AReaL counts it as 0.
        return 0.0


def of_areal_async(url: str, task: Any, completion: Any, deadline: float) -> Any:
    return finish(areal.AsyncReward(url, deadline=deadline)("p", completion, task=task))


def of_atropos(missing: str) -> Call:
    def call(url: str, task: Any, completion: Any, deadline: float) -> Any:
        scorer = atropos.Scorer(url, missing=missing, deadline=deadline)
        group = finish(scorer.score({"tokens": [[1]]}, {"task": task}, [completion]))
        return None if group is None else group["scores"][0]

    return call


def of_rollouts(url: str, task: Any, completion: Any, deadline: float) -> Any:
    return assay.Rollouts(url, deadline=deadline).reward({"task": task}, completion)


ADAPTERS: dict[str, Call] = {
    **{f"trl {missing}": of_trl(missing) for missing in ("mask", "drop_group", "raise")},
    **{f"verl {missing}": of_verl(missing) for missing in ("raise", "mask")},
    **{f"openrlhf {missing}": of_openrlhf(missing) for missing in ("raise", "drop_group")},
    **{f"slime {missing}": of_slime(missing) for missing in ("raise", "drop_group", "mask")},
    "areal": of_areal,
    "areal async": of_areal_async,
    **{f"atropos {missing}": of_atropos(missing) for missing in ("drop_group", "raise")},
    "rollouts": of_rollouts,
}
adapters = pytest.mark.parametrize("name", ADAPTERS)


def changed(change: Callable[[dict[str, Any]], Any]) -> Fault:
    """The node grades the batch, and its result is changed."""

    def answer(exchange: Exchange) -> None:
        status, headers, body = exchange.forward()
        assert status == 200
        reply = json.loads(body)
        for result in reply["results"]:
            change(result)
        exchange.answer(status, headers, json.dumps(reply).encode())

    return answer


def failed(result: dict[str, Any]) -> None:
    """What a failure of the grader looks like."""
    error = {"code": "sandbox_failed", "message": "the sandbox failed", "retryable": True}
    result.update(outcome="failed", verdict=None, reward=None, error=error)
    result["pass"] = None


def without_reward(result: dict[str, Any]) -> None:
    del result["reward"]


def text_as_reward(result: dict[str, Any]) -> None:
    result["reward"] = "1.0"


def truth_as_reward(result: dict[str, Any]) -> None:
    result["reward"] = True


FAULTS: dict[str, Fault] = {
    "killed before": lost_request,
    "killed after": lost_reply,
    "killed in the reply": cut_in_half,
    "overloaded": rejected(429, "overloaded", "0.1"),
    "shutting down": rejected(503, "shutting_down"),
    "unavailable": rejected(503, "store_unavailable", "0.1"),
    "internal": rejected(500, "internal"),
    "bad gateway": bad_gateway,
    "grader failed": changed(failed),
    "no reward": changed(without_reward),
    "text as reward": changed(text_as_reward),
    "truth value as reward": changed(truth_as_reward),
    "no results": lambda exchange: exchange.answer(200, {}, b'{"results": []}'),
    "not a reply": lambda exchange: exchange.answer(200, {}, b"<html>"),
}


def outcome(name: str, url: str, task: Any, completion: Any, deadline: float = DEADLINE) -> Any:
    """What the trainer gets: a number, `None` if it leaves the completion out, or an error."""
    try:
        return ADAPTERS[name](url, task, completion, deadline)
    except Exception as error:
        return error


@adapters
def test_a_right_and_a_wrong_answer_have_numbers(node: Node, name: str) -> None:
    assert outcome(name, node.url, GOLD, RIGHT) == 1.0
    assert outcome(name, node.url, GOLD, WRONG) == 0.0


@adapters
def test_an_ungradable_item_is_not_a_number(node: Node, name: str) -> None:
    found = outcome(name, node.url, UNGRADABLE, RIGHT)
    assert found is None or isinstance(found, assay.NotGradedError)


@pytest.mark.parametrize("fault", FAULTS)
@adapters
def test_no_failure_is_a_number(node: Node, name: str, fault: str) -> None:
    proxy = FaultProxy(node.url, [FAULTS[fault]] * 1000)
    # A right answer, so that any number would be wrong or lucky.
    found = outcome(name, proxy.url, GOLD, RIGHT, SHORT_DEADLINE)
    proxy.close()
    assert proxy.faults > 0
    assert found is None or isinstance(found, Exception), found


@pytest.mark.parametrize(
    "completion",
    [None, 4, 4.0, math.nan, b"\\boxed{4}", {"role": "assistant", "content": RIGHT}, [], [RIGHT],
     [{"role": "user", "content": RIGHT}], [{"role": "assistant", "content": 4}]],
    ids=repr,
)  # fmt: skip
@adapters
def test_a_completion_of_another_type_is_an_error(node: Node, name: str, completion: Any) -> None:
    assert isinstance(outcome(name, node.url, GOLD, completion), Exception)


@pytest.mark.parametrize(
    "task", [None, 4, [GOLD], {}, {"type": "math"}, {"type": "maths"}], ids=repr
)
@adapters
def test_a_row_without_a_task_is_an_error(node: Node, name: str, task: Any) -> None:
    assert isinstance(outcome(name, node.url, task, RIGHT), Exception)


@adapters
def test_texts_of_any_size_are_graded(node: Node, name: str) -> None:
    for text, reward in ((f"{'word ' * 50_000}{RIGHT}", 1.0), ("", 0.0), ("\ud800" + RIGHT, 1.0)):
        assert outcome(name, node.url, GOLD, text) == reward


def test_messages_are_graded_by_the_last_answer(node: Node) -> None:
    turns = [
        {"role": "assistant", "content": WRONG},
        {"role": "user", "content": "Are you sure?"},
        {"role": "assistant", "content": [{"type": "text", "text": RIGHT}]},
    ]
    for name in ("trl mask", "rollouts", "atropos drop_group", "areal"):
        assert outcome(name, node.url, GOLD, turns) == 1.0


def test_names_what_is_wrong_with_a_completion() -> None:
    with pytest.raises(TypeError, match="at position 1 is a NoneType; a completion is a text"):
        assay.Rollouts("http://127.0.0.1:1").grade([{"task": GOLD}] * 2, [RIGHT, None])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "text", ['{"type":"math","answer":"5","answer":"4"}', '{"a":{"b":1,"b":1}}']
)
def test_duplicate_keys_in_json_are_errors(text: str) -> None:
    url = "http://127.0.0.1:1"
    with pytest.raises(ValueError, match="duplicate key `(answer|b)`"):
        assay.Rollouts(url).reward({"task": text}, RIGHT)
    with pytest.raises(ValueError, match="the label has a duplicate key"):
        openrlhf.reward_func(url)([RIGHT], [""], [text])


def test_columns_of_another_length_are_an_error(node: Node) -> None:
    reward = trl.Reward(node.url)
    for tasks in ([GOLD], [GOLD] * 3):
        with pytest.raises(ValueError, match="the column `task` has . values for 2 completions"):
            reward(prompts=["p", "q"], completions=[RIGHT, WRONG], task=tasks)
    # Other arguments of a later TRL.
    found = reward(prompts=["p"], completions=[RIGHT], task=[GOLD], seed=3, other=None)
    assert found == [1.0]


def test_a_failed_item_does_not_move_the_others(node: Node) -> None:
    tasks, completions = [GOLD, UNGRADABLE, GOLD, GOLD], [RIGHT, RIGHT, WRONG, WRONG]
    for missing, expected in (
        ("mask", [1.0, None, 0.0, 0.0]),
        ("drop_group", [None, None, 0.0, 0.0]),
    ):
        reward = trl.Reward(node.url, missing=missing)
        found = reward(prompts=["p", "p", "q", "r"], completions=completions, task=tasks)
        assert found == expected
