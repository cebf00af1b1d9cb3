"""Rewards for ROLL, in the method `compute_rewards` of a reward worker.

    self.rewards = assay.roll.Rewards("http://127.0.0.1:8080", columns=("prompt", "ground_truth"))

    @register(dispatch_mode=Dispatch.DP_MP_COMPUTE, clear_cache=False)
    def compute_rewards(self, data):
        return DataProto.from_dict(tensors=self.rewards(data, self.tokenizer))

ROLL requires a number for every reward, so a rollout without a reward raises an error, which stops
the training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from assay.rollouts import Rollouts

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions


class Rewards:
    """Computes the tensors of a reward worker.

    - `server`: URL of a server, or several; by default each worker starts a private node.
    - `columns`: the columns of `non_tensor_batch` that are the row of a rollout.
    - `options`: the arguments of `assay.Rollouts`.
    """

    def __init__(
        self,
        server: str | Iterable[str] | None = None,
        *,
        columns: Sequence[str],
        **options: Unpack[RolloutOptions],
    ) -> None:
        self._columns = tuple(columns)
        self._rollouts = Rollouts(server, **options)

    def __call__(self, data: Any, tokenizer: Any) -> dict[str, torch.Tensor]:
        """The tensors of the rollouts; raises `NotGradedError` if one has no reward."""
        responses = data.batch["responses"]
        texts = tokenizer.batch_decode(responses, skip_special_tokens=True)
        columns = {name: data.non_tensor_batch[name] for name in self._columns}
        rows = [
            {name: values[position] for name, values in columns.items()}
            for position in range(len(texts))
        ]
        results = self._rollouts.grade(
            rows,
            texts,
            prompts=_prompts(data, tokenizer, len(texts)),
            meta=[{"tokens": count} for count in _lengths(data, responses)],
        )
        rewards = torch.tensor(results.rewards(), dtype=torch.float32)
        return {
            "token_level_rewards": torch.zeros_like(responses, dtype=torch.float32),
            "response_level_rewards": rewards,
            "scores": rewards,
        }


def _prompts(data: Any, tokenizer: Any, count: int) -> list[str | None]:
    """The texts of the prompts. A column `prompt` of `columns` is used where they are missing."""
    if "prompts" not in data.batch.keys():  # noqa: SIM118, a TensorDict
        return [None] * count
    texts: list[str | None] = tokenizer.batch_decode(
        data.batch["prompts"], skip_special_tokens=True
    )
    return texts


def _lengths(data: Any, responses: torch.Tensor) -> list[int]:
    """The number of tokens of each response."""
    if "response_mask" not in data.batch.keys():  # noqa: SIM118, a TensorDict
        return [responses.shape[-1]] * len(responses)
    # The mask covers the prompt and the response.
    mask: list[int] = data.batch["response_mask"].sum(dim=-1).tolist()
    return mask
