#!/usr/bin/env python3
"""Trains a model with TRL's GRPO and rewards of the service.

usage: trl_grpo.py MODEL [--server URL] [--steps 10] [--output FOLDER]

Without a server the script starts a private node.
"""

from __future__ import annotations

import argparse

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from assay.trl import Reward

ROWS = [
    {"prompt": "What is 1 plus 1?", "answer": "2"},
    {"prompt": "What is 2 plus 1?", "answer": "3"},
    # The answer is missing, so completions of this row have no reward and do not train the model.
    {"prompt": "What is 1 divided by 0?", "answer": ""},
]


def main() -> None:
    parser = argparse.ArgumentParser(description="Train with TRL and rewards of the service.")
    parser.add_argument("model", help="folder or name of a model")
    parser.add_argument("--server", help="URL of a server")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--output", default="trained")
    options = parser.parse_args()
    reward = Reward(
        options.server,
        task=lambda row: {"type": "math", "answer": row["answer"]},
        run="trl",
    )
    trainer = GRPOTrainer(
        model=options.model,
        reward_funcs=reward,
        args=GRPOConfig(
            output_dir=options.output,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=8,
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
            print(entry["step"], entry["reward"], entry["assay/without_reward"])


if __name__ == "__main__":
    main()
