#!/usr/bin/env python3
"""Measures how long a new user waits: from an empty environment to the first training step with
rewards of the service (TRL), or to the first rewards of the reward manager (verl, whose training
needs a GPU).

usage: first_step.py WHEEL [--shared PYTHON]

The packages come from the package index and pip's cache. With `--shared` the environment also has
the packages of another one, such as torch, as on a machine where a model was trained before. The
images of the service are compiled anew.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
TESTS = HERE.parent / "tests" / "trainers"

TRAINERS = {
    "TRL": ["trl==1.16.0"],
    # Without what verl needs for engines and logs, most of which has no build for the CPU.
    "verl": [
        "--no-deps", "verl==0.9.1", "tensordict==0.10.0", "pyvers", "torchdata==0.11.0",
    ],
}  # fmt: skip
VERL_NEEDS = [
    "ray[default]==2.60.0", "hydra-core", "codetiming", "dill", "cachetools", "datasets",
    "accelerate", "peft", "tensorboard", "pylatexenc", "orjson", "fastapi", "uvicorn", "aiohttp",
]  # fmt: skip

SAVE = "import sys, pathlib, tiny; tiny.save(pathlib.Path(sys.argv[1]))"
VERL = """
import sys
from omegaconf import OmegaConf
from verl.trainer.ppo.reward import load_reward_manager
import test_verl, tiny
config = {"custom_reward_function": {"path": sys.argv[1], "name": "compute_score"},
          "reward_manager": {"source": "register", "name": "naive"}}
made = load_reward_manager(OmegaConf.create({"reward": config}), tiny.tokenizer())
for answer, reward in (("\\\\boxed{2}", 1.0), ("\\\\boxed{3}", 0.0)):
    found = test_verl.run(made, made.run_single(test_verl.rollout(None, answer)))
    assert found["reward_score"] == reward, found
"""


class Clock:
    """Times the steps of one trainer."""

    def __init__(self, name: str) -> None:
        self.name, self.total = name, 0.0

    def run(self, what: str, command: list[str], **options: Any) -> str:
        started = time.monotonic()
        ran = subprocess.run(command, capture_output=True, text=True, **options)
        seconds = time.monotonic() - started
        if ran.returncode != 0:
            sys.exit(f"{self.name}: {what} failed:\n{ran.stderr[-4000:]}")
        self.total += seconds
        print(f"{self.name}: {what}: {seconds:.0f} s", flush=True)
        return str(ran.stdout)


def purelib(python: str) -> str:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def measure(name: str, wheel: str, shared: str | None, folder: Path) -> float:
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    if shared is not None:
        (Path(purelib(python)) / "shared.pth").write_text(purelib(shared) + "\n")
    clock = Clock(name)
    pip = [python, "-m", "pip", "install", "--quiet"]
    clock.run("install the service and its client", [*pip, wheel])
    if name == "verl":
        clock.run("install what verl needs", [*pip, *VERL_NEEDS])
    clock.run("install the trainer", [*pip, *TRAINERS[name]])
    # The images of the service are compiled for this run.
    home = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    home.pop("ASSAY_BINARY", None)
    home["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    if name == "TRL":
        model = str(folder / "model")
        subprocess.run([python, "-c", SAVE, model], check=True, env=home, capture_output=True)
        command = [python, str(EXAMPLES / "trl_grpo.py"), model, "--steps", "1"]
        output = clock.run("train one step", command, env=home, cwd=folder)
        assert output.splitlines()[-1].startswith("1 "), output
    else:
        command = [python, "-c", VERL, str(EXAMPLES / "verl_rewards.py")]
        # The manager's test module imports pytest.
        subprocess.run([*pip, "pytest"], check=True)
        clock.run("grade two rollouts", command, env=home, cwd=folder)
    print(f"{name}: in total {clock.total / 60:.1f} minutes")
    return clock.total


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the time to the first training step.")
    parser.add_argument("wheel", help="wheel of the Python package for this platform")
    parser.add_argument("--shared", help="interpreter of an environment with torch")
    options = parser.parse_args()
    for name in TRAINERS:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, os.path.abspath(options.wheel), options.shared, Path(folder))


if __name__ == "__main__":
    main()
