"""An environment of the Open Reward Standard, served by the package `openreward`."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from openreward.environments import Server
from support import Node

import assay.openreward

ROWS = [
    {"question": "1+1?", "task": {"type": "math", "answer": "2"}},
    {"question": "?", "task": {"type": "math", "answer": ""}},
]


def submitted(node: Node, row: int, answer: str, missing: str) -> Any:
    created = assay.openreward.environment("math", ROWS, node.url, missing=missing)
    environment = created(task_spec=ROWS[row])
    return asyncio.run(environment.submit(assay.openreward.Answer(answer=answer)))


def test_grades_the_answer(node: Node) -> None:
    for answer, reward in (("\\boxed{2}", 1.0), ("\\boxed{3}", 0.0)):
        output = submitted(node, 0, answer, "raise")
        assert output.reward == reward and output.finished
        assert output.metadata["graded"]


def test_an_answer_without_a_reward_is_an_error_or_null(node: Node) -> None:
    with pytest.raises(assay.NotGradedError):
        submitted(node, 1, "\\boxed{2}", "raise")
    output = submitted(node, 1, "\\boxed{2}", "mask")
    assert output.reward is None and output.metadata["graded"] is False


def test_the_server_lists_tasks_and_grades_over_server_sent_events(node: Node) -> None:
    created = assay.openreward.environment("math", ROWS, node.url)
    with TestClient(Server([created]).app) as client:
        assert client.get("/list_environments").json() == ["math"]
        assert client.post("/math/tasks", json={"split": "train"}).json()["tasks"] == ROWS
        created_session = re.search(r"data: (\S+)", client.post("/create_session").text)
        assert created_session is not None
        session = {"x-session-id": created_session[1]}
        body = {"env_name": "math", "task_spec": ROWS[0]}
        assert client.post("/create", json=body, headers=session).status_code == 200
        call = {"name": "submit", "input": {"answer": "\\boxed{2}"}}
        reply = client.post("/math/call", json=call, headers=session)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert '"reward":1.0' in reply.text.replace(" ", "")
