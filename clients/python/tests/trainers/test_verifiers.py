"""A task of verifiers with a reward of the service."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import verifiers.v1 as vf
from support import Node
from verifiers.v1.errors import TaskError

import assay.verifiers


class Data(vf.TaskData):
    """The data of a task."""

    answer: str


def scored(node: Node, answer: str, reply: str) -> Any:
    """The trace of a rollout after its task scored it."""

    class Graded(vf.Task[Data]):
        correct = assay.verifiers.reward(
            node.url, task=lambda row: {"type": "math", "answer": row["answer"]}
        )

    trace = Trace(reply)
    asyncio.run(Graded(Data(answer=answer)).score(trace))  # type: ignore[arg-type]
    return trace


class Trace(SimpleNamespace):
    """The parts of a trace that scoring uses, with verifiers' own methods."""

    record_reward = vf.Trace.record_reward

    def __init__(self, reply: str) -> None:
        super().__init__(last_reply=reply, rewards={}, metrics={}, info={})


def test_records_the_reward(node: Node) -> None:
    for reply, reward in (("\\boxed{2}", 1.0), ("\\boxed{3}", 0.0)):
        trace = scored(node, "2", reply)
        assert trace.rewards["assay"].score == reward and trace.rewards["assay"].weight == 1.0


def test_an_item_without_a_reward_is_an_error_of_the_rollout(node: Node) -> None:
    with pytest.raises(TaskError, match="NotGradedError.*gold_unparsable"):
        scored(node, "", "\\boxed{2}")


def test_the_reward_stays_unset(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    traces: list[Trace] = []
    monkeypatch.setattr(Trace, "__init__", _recording(Trace.__init__, traces))
    with pytest.raises(TaskError):
        scored(node, "", "\\boxed{2}")
    assert traces[0].rewards == {"assay": None}


def _recording(make: Any, traces: list[Trace]) -> Any:
    def made(self: Trace, reply: str) -> None:
        make(self, reply)
        traces.append(self)

    return made
