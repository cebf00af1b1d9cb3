"""Scores for groups of Atropos.

In an environment, with one group for each item:

    scorer = assay.atropos.Scorer("http://127.0.0.1:8080", template="gsm8k")

    async def collect_trajectories(self, item):
        group, completions = await self.sample(item)
        return await scorer.score(group, item, completions), []

Atropos drops a group that is `None` and samples another. It requires a score for every completion,
so a group that has a completion without a reward is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from assay._prompts import group_of
from assay.rollouts import Completion, Prompt, Rollouts, Row, check_missing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

Group = TypeVar("Group", bound="dict[str, Any]")
MASKED = -100


class Scorer:
    """Scores groups of completions.

    - `server`: URL of a server, or several; by default the process starts a private node.
    - `missing`: `"drop_group"`, or `"raise"` for an error, which Atropos logs and then drops the
      group.
    - `options`: the arguments of `assay.Rollouts`.
    """

    def __init__(
        self,
        server: str | Iterable[str] | None = None,
        *,
        missing: str = "drop_group",
        **options: Unpack[RolloutOptions],
    ) -> None:
        self._drops = check_missing(missing, ("drop_group", "raise")) == "drop_group"
        self._rollouts = Rollouts(server, **options)

    async def score(
        self,
        group: Group,
        row: Row,
        completions: Sequence[Completion],
        prompt: Prompt | None = None,
    ) -> Group | None:
        """The group with its `scores`, or `None` if a completion has no reward.

        `prompt` is the prompt of the group, unless the row has it.
        """
        sampled = group.get("tokens", completions)
        if len(sampled) != len(completions):
            raise ValueError(f"{len(completions)} completions for a group of {len(sampled)}")
        # Tokens of the prompt are masked.
        masks = [[token for token in mask if token != MASKED] for mask in group.get("masks", ())]
        names = [group_of(row)] * len(completions)
        results = await self._rollouts.grade_async(
            [row] * len(completions),
            completions,
            prompts=[prompt] * len(completions),
            groups=names,
            meta=[{"tokens": len(one)} for one in masks] if masks else None,
        )
        if self._drops and not all(results.mask):
            return None
        group["scores"] = results.rewards()
        return group
