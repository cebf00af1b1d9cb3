"""Rewards of the service for verl. Its command line names this file:

    python -m verl.trainer.main_ppo … \\
        reward.custom_reward_function.path=verl_rewards.py \\
        reward.custom_reward_function.name=compute_score

`ASSAY_SERVER` is the URL of a server; without it, each worker of verl starts a private node.
"""

import os

import assay.verl

compute_score = assay.verl.compute_score(
    os.environ.get("ASSAY_SERVER"),
    task=lambda row: {"type": "math", "answer": row["reward_model"]["ground_truth"]},
    run="verl",
)
