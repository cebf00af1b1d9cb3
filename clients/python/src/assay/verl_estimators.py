"""The advantage estimator `assay_grpo` for verl, which leaves out rollouts without a reward.

Importing this module registers it: `VERL_USE_EXTERNAL_MODULES=assay.verl_estimators`.
"""

from __future__ import annotations

from typing import Any

import numpy
import torch
from verl.trainer.ppo.core_algos import register_adv_est

EPSILON = 1e-6


@register_adv_est("assay_grpo")
def assay_grpo(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: numpy.ndarray[Any, Any],
    config: Any = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages of GRPO without the rollouts that have a NaN among their rewards.

    Such a rollout does not enter the mean and the deviation of its group, and its advantage is 0. A
    group with fewer than two rewards has advantages of 0, because there is nothing to compare.
    """
    by_deviation = True if config is None else config.get("norm_adv_by_std_in_grpo", True)
    scores = token_level_rewards.sum(dim=-1)
    advantages = torch.zeros_like(scores)
    names = numpy.asarray(index)
    graded = ~torch.isnan(scores)
    for name in set(names.tolist()):
        members = torch.as_tensor(names == name, device=scores.device) & graded
        if int(members.sum()) < 2:
            continue
        rewards = scores[members]
        centred = rewards - rewards.mean()
        advantages[members] = centred / (rewards.std() + EPSILON) if by_deviation else centred
    # Not a product: the rewards of a rollout that is not graded are NaN.
    tokens = torch.where(response_mask.bool(), advantages.unsqueeze(-1), torch.zeros(()))
    return tokens, tokens
