"""The SDK of E2B, and smolagents with it, with the node as their server."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator

import pytest
from e2b.exceptions import NotFoundException, SandboxException
from e2b_code_interpreter import AsyncSandbox, Sandbox
from smolagents import FinalAnswerTool
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import E2BExecutor
from support import Node


@pytest.fixture(autouse=True)
def server(node: Node, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in ("E2B_API_URL", "E2B_SANDBOX_URL"):
        monkeypatch.setenv(variable, f"{node.url}/compat/e2b")
    monkeypatch.setenv("E2B_API_KEY", "e2b_" + 40 * "0")
    yield


def test_code_runs_in_contexts_of_a_sandbox(node: Node) -> None:
    sandbox = Sandbox.create(timeout=60)
    assert sandbox.is_running()
    first = sandbox.run_code("x = 6 * 7\nprint('hi')\nx")
    assert (first.text, first.logs.stdout, first.execution_count) == ("42", ["hi\n"], 1)
    failed = sandbox.run_code("import sys\nprint(x, file=sys.stderr)\nx / 0")
    assert failed.logs.stderr == ["42\n"]
    assert failed.error is not None
    assert (failed.error.name, failed.error.value) == ("ZeroDivisionError", "division by zero")
    assert "line 3" in failed.error.traceback
    assert sandbox.run_code("[1, 2].map(n => n * 2)", language="js").text == "[ 2, 4 ]"
    context = sandbox.create_code_context()
    unknown = sandbox.run_code("x", context=context).error
    assert unknown is not None and unknown.name == "NameError"
    sandbox.remove_code_context(context)
    for options in ({"language": "cobol"}, {"envs": {"A": "1"}}):
        with pytest.raises(SandboxException, match="400"):
            sandbox.run_code("x", **options)  # type: ignore[call-overload]
    assert sandbox.kill() and not sandbox.kill() and not sandbox.is_running()
    with pytest.raises(NotFoundException):
        sandbox.run_code("x")
    with urllib.request.urlopen(f"{node.url}/v1/sessions") as reply:
        names = [session["name"] for session in json.load(reply)["sessions"]]
    assert not any(str(name).startswith(f"e2b/{sandbox.sandbox_id}/") for name in names)


def test_sandboxes_for_asyncio() -> None:
    async def power(n: int) -> str | None:
        sandbox = await AsyncSandbox.create(timeout=30)
        text = (await sandbox.run_code(f"2 ** {n}")).text
        await sandbox.kill()
        return text

    async def powers() -> list[str | None]:
        return await asyncio.gather(*(power(n) for n in range(8)))

    assert asyncio.run(powers()) == [str(2**n) for n in range(8)]


def test_the_executor_of_smolagents() -> None:
    executor = E2BExecutor([], AgentLogger(level=LogLevel.OFF))
    executor.send_variables({"a": [1, 2, 3]})
    executor.send_tools({"final_answer": FinalAnswerTool()})
    output = executor("b = sum(a)\nprint('sum', b)\nb")
    assert (output.output, output.logs, output.is_final_answer) == ("6", "sum 6\n", False)
    output = executor("final_answer({'value': b})")
    assert (output.output, output.is_final_answer) == ({"value": 6}, True)
    executor.cleanup()
