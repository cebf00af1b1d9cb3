"""The examples run."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import test_verifiers
import test_verl
import tiny
from nbclient import NotebookClient
from omegaconf import OmegaConf
from support import Node
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.experimental.agent_loop.tool_parser import FunctionCall
from verl.trainer.ppo.reward import load_reward_manager

import assay

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_trl_trains(node: Node, tmp_path: Path) -> None:
    command = [
        sys.executable, str(EXAMPLES / "trl_grpo.py"), tiny.save(tmp_path / "model"),
        "--server", node.url, "--steps", "3", "--output", str(tmp_path / "trained"),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    steps = [line.split() for line in ran.stdout.splitlines() if line[:2] in ("1 ", "2 ", "3 ")]
    assert len(steps) == 3, ran.stdout
    # Each step has the completions of one row; one of the three rows has no rewards.
    assert sorted(float(step[2]) for step in steps) == [0.0, 0.0, 1.0]
    recorded = node.grades("trl")
    assert {grade["outcome"] for grade in recorded} == {"graded", "ungradable"}


def test_verl_loads_the_file(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SERVER", node.url)
    config = {
        "custom_reward_function": {
            "path": str(EXAMPLES / "verl_rewards.py"),
            "name": "compute_score",
        },
        "reward_manager": {"source": "register", "name": "naive"},
    }
    made = load_reward_manager(OmegaConf.create({"reward": config}), tiny.tokenizer())
    found = test_verl.run(made, made.run_single(test_verl.rollout(None, "\\boxed{2}")))
    assert found["reward_score"] == 1.0


def example(name: str) -> Any:
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


CALLS = ("x = sum(n * n for n in range(11))", "print(x)\nx + 1", "x / 0")


def test_environments_of_trl_have_sessions(node: Node) -> None:
    module = example("trl_tools")
    environment = module.PythonEnvironment(assay.Client(node.url))
    environment.reset(answer="385")
    outputs = [environment.python(code) for code in CALLS]
    assert outputs[1] == "385\n386" and "ZeroDivisionError" in outputs[2]
    reward = module.Reward(
        node.url,
        task=lambda row: {"type": "math", "answer": row["answer"]},
        session=module.session_of,
        policy=module.POLICY,
        run="trl-environment",
    )
    prompt = [{"role": "user", "content": "?"}]
    completion = [{"role": "assistant", "content": "It is 385."}]
    columns = {"answer": ["385"], "environments": [environment]}
    assert reward([prompt], [completion], **columns) == [1.0]
    (grade,) = node.grades("trl-environment")
    assert grade["measures"]["session.calls"] == 3.0
    assert grade["components"][0]["verdict"] == "replayed"
    environment.reset(answer="385")
    assert "NameError" in environment.python("x")


def test_trl_trains_with_environments(node: Node, tmp_path: Path) -> None:
    command = [
        sys.executable, str(EXAMPLES / "trl_tools.py"), tiny.save_with_tools(tmp_path / "model"),
        "--server", node.url, "--steps", "2", "--output", str(tmp_path / "trained"),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [line.split()[0] for line in ran.stdout.splitlines()[-2:]] == ["1", "2"], ran.stdout
    recorded = node.grades("trl-tools")
    assert len(recorded) == 8
    assert {grade["components"][0]["verdict"] for grade in recorded} == {"replayed"}


def test_tools_of_verl_share_the_session_of_a_trajectory(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_SERVER", node.url)
    module = example("verl_tools")
    tool = module.PythonTool({"type": "native"})
    loop = SimpleNamespace(tools={"python": tool}, max_tool_response_length=1000)
    trajectories = [SimpleNamespace(request_id=name, extra_fields={}) for name in ("a", "b")]

    async def run() -> list[str]:
        outputs = []
        for code in CALLS:
            for data in trajectories[: 2 if code == CALLS[2] else 1]:
                call = FunctionCall(name="python", arguments=json.dumps({"code": code}))
                reply, _, _ = await ToolAgentLoop._call_tool(loop, call, {}, data)
                outputs.append(reply.text)
        await tool._client.close()
        return outputs

    outputs = asyncio.run(run())
    assert outputs[1] == "385\n386"
    assert "ZeroDivisionError" in outputs[2] and "NameError" in outputs[3]
    extra = trajectories[0].extra_fields
    score = asyncio.run(module.compute_score("math", "It is 385.", "385", extra))
    assert score["score"] == 1.0
    (grade,) = node.grades("verl-tools")
    assert grade["measures"]["session.calls"] == 3.0


def test_tools_of_verifiers_share_the_session_of_a_rollout(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_SERVER", node.url)
    module = example("verifiers_tools")
    (toolset,) = module.MathTask.toolsets(None)
    state = module.PythonState()
    monkeypatch.setattr(type(toolset), "state", state, raising=False)

    async def run() -> list[str]:
        return [await toolset.python(code) for code in CALLS]

    outputs = asyncio.run(run())
    assert outputs[1] == "385\n386" and "ZeroDivisionError" in outputs[2]
    trace = test_verifiers.Trace("It is 385.")
    trace.state = state
    asyncio.run(module.MathTask(module.MathData(answer="385")).score(trace))
    assert trace.rewards["correct"].score == 1.0
    (grade,) = node.grades("verifiers-tools")
    assert grade["measures"]["session.failed_calls"] == 1.0


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(EXAMPLES / "pass_rates.ipynb", as_version=4)
    opens = "import urllib.request\nprint(urllib.request.urlopen(page).read().decode())"
    notebook.cells.append(nbformat.v4.new_code_cell(opens))
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = json.dumps([cell.get("outputs") for cell in notebook.cells])
    assert "4 without a reward" in outputs and "image/png" in outputs
    assert "'7 * 8': 0.5" in outputs and "'1 / 0': None" in outputs
    assert "1 / 0 ungradable gold_unparsable" in outputs
    assert "wrong_answer" in outputs and "/ui/grades/" in outputs
    assert "Expected and actual" in outputs, "the link opens the page of the grade"
