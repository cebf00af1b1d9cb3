#!/usr/bin/env python3
"""Trains a model that calls Python, with TRL's GRPO. Each rollout has an interpreter session, whose
log is part of its grade.

usage: trl_tools.py MODEL --server URL [--steps 10] [--output FOLDER]

The chat template of the model must support tools.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

import assay
from assay.trl import Reward

ROWS = [
    {"prompt": [{"role": "user", "content": "What is the sum of the first ten squares?"}],
     "answer": "385"},
    {"prompt": [{"role": "user", "content": "What is 17 to the power of 3?"}], "answer": "4913"},
]  # fmt: skip

# Right answers count less with more calls, and nothing if the log is not that of their session.
POLICY = {
    "veto": {"parts": ["session"]},
    "efficiency": {"otc": {"form": "grpo", "measure": "session.calls"}},
}


class PythonEnvironment:
    """The interpreter of a rollout. TRL resets it before the next one."""

    def __init__(self, client: assay.Client) -> None:
        self._client = client
        self._session: assay.Session | None = None

    def reset(self, **_row: Any) -> None:
        """Starts a rollout, with a new session."""
        if self._session is not None:
            self._session.close()
        self._session = self._client.session("python").open()

    def python(self, code: str) -> str:
        """Runs Python, and returns what it prints and the value of its last expression.

        Args:
            code: The code. Names remain for the next call.

        Returns:
            The output, or the traceback of an exception.
        """
        assert self._session is not None
        reply = self._session.run(code)
        error = "" if reply.exception is None else reply.exception.traceback
        return reply.stdout + (reply.value or "") + error


def session_of(row: Any) -> str:
    """The id of the session of a rollout."""
    return str(row["environments"]._session.id)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a model that calls Python.")
    parser.add_argument("model", help="folder or name of a model")
    parser.add_argument("--server", required=True, help="URL of a server")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--output", default="trained")
    options = parser.parse_args()
    client = assay.Client(options.server)
    reward = Reward(
        options.server,
        task=lambda row: {"type": "math", "answer": row["answer"]},
        session=session_of,
        policy=POLICY,
        run="trl-tools",
    )
    trainer = GRPOTrainer(
        model=options.model,
        reward_funcs=reward,
        environment_factory=lambda: PythonEnvironment(client),
        args=GRPOConfig(
            output_dir=options.output,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=64,
            max_tool_calling_iterations=4,
            max_steps=options.steps,
            logging_steps=1,
            use_cpu=not torch.cuda.is_available(),
            bf16=torch.cuda.is_available(),
            report_to=[],
        ),
        train_dataset=Dataset.from_list(ROWS),
    )
    trainer.train()
    for entry in trainer.state.log_history:
        if "reward" in entry:
            print(entry["step"], entry["reward"])


if __name__ == "__main__":
    main()
