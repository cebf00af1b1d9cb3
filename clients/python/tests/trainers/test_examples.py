"""The examples run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import test_verl
import tiny
from nbclient import NotebookClient
from omegaconf import OmegaConf
from support import Node
from verl.trainer.ppo.reward import load_reward_manager

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
