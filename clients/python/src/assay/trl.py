"""Rewards for TRL and trainers that are built on it, such as Unsloth and Axolotl.

    from assay.trl import Reward

    trainer = GRPOTrainer(model, reward_funcs=Reward("http://127.0.0.1:8080"), train_dataset=rows)

TRL leaves a completion out of the mean and the deviation of its group, and gives it an advantage of
0, if every reward function returned `None` for it. Versions before 1.6 count `None` as a reward of
0, so `Reward` rejects them unless `missing` is `"raise"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Union

from assay.rollouts import Completion, Rollouts, Row, check_missing, group_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

# Arguments of a reward function that are not columns of the dataset.
NOT_COLUMNS = frozenset({"trainer_state", "log_extra", "log_metric", "environments"})
# The first version that leaves a completion without a reward out of its group.
MASKS_SINCE = (1, 6)
OtherReward = Callable[..., Sequence[Union[float, None]]]


class Reward:
    """A reward function for `reward_funcs`.

    The row of a completion has the columns of the dataset and `prompt`.

    - `server`: URL of a server, or several; by default the process starts a private node.
    - `missing`: what happens to a completion without a reward. `"mask"` leaves it out of the loss,
      `"drop_group"` all completions of its prompt that this process has, and `"raise"` stops the
      training.
    - `options`: the arguments of `assay.Rollouts`.
    """

    __name__ = "assay"

    def __init__(
        self,
        server: str | Iterable[str] | None = None,
        *,
        missing: str = "mask",
        **options: Unpack[RolloutOptions],
    ) -> None:
        self._missing = check_missing(missing, ("mask", "drop_group", "raise"))
        if missing != "raise":
            _check_version()
        self._rollouts = Rollouts(server, **options)
        self._last: tuple[Any, list[bool]] | None = None

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Completion], **columns: Any
    ) -> list[float | None]:
        """The rewards of the completions; `None` for a completion without a reward."""
        groups = [group_of(prompt) for prompt in prompts]
        state = columns.get("trainer_state")
        results = self._rollouts.grade(
            _rows(prompts, columns),
            completions,
            groups=groups,
            step=None if state is None else int(state.global_step),
        )
        mask = results.mask
        if self._missing == "raise":
            results.rewards()
        elif self._missing == "drop_group":
            dropped = {group for group, graded in zip(groups, mask) if not graded}
            mask = [group not in dropped for group in groups]
        _log(columns, results.mask, [result.verdict for result in results])
        self._last = (completions, mask)
        rewards = results.rewards_or(masked=None)
        return [reward if kept else None for reward, kept in zip(rewards, mask)]

    def gate(self, other: OtherReward) -> OtherReward:
        """Another reward function, which returns `None` wherever this one did.

        TRL adds up the functions that returned a number, so other functions would still train a
        completion without a reward. List them after this one:
        `reward_funcs=[reward, reward.gate(length)]`.
        """

        def gated(completions: Sequence[Completion], **columns: Any) -> list[float | None]:
            if self._last is None or self._last[0] is not completions:
                raise RuntimeError(
                    "the completions have not been graded; list the reward of `assay` before the "
                    "functions that it gates, in `reward_funcs`"
                )
            values = other(completions=completions, **columns)
            return [value if kept else None for value, kept in zip(values, self._last[1])]

        gated.__name__ = getattr(other, "__name__", "gated")
        return gated


def _rows(prompts: Sequence[Any], columns: Mapping[str, Any]) -> list[Row]:
    # The columns of a dataset are lists. TRL also passes objects, and may pass others.
    listed = {
        name: values
        for name, values in columns.items()
        if name not in NOT_COLUMNS and name != "completion_ids" and isinstance(values, list)
    }
    for name, values in listed.items():
        if len(values) != len(prompts):
            raise ValueError(
                f"the column `{name}` has {len(values)} values for {len(prompts)} completions"
            )
    return [
        {"prompt": prompt, **{name: values[position] for name, values in listed.items()}}
        for position, prompt in enumerate(prompts)
    ]


def _log(columns: Mapping[str, Any], mask: Sequence[bool], verdicts: list[Any]) -> None:
    """Logs the share of completions without a reward, and the verdicts, if TRL takes them."""
    if columns.get("log_metric") is not None and mask:
        columns["log_metric"]("assay/without_reward", 1.0 - sum(mask) / len(mask))
    if columns.get("log_extra") is not None:
        columns["log_extra"]("verdict", verdicts)


def _check_version() -> None:
    try:
        installed = version("trl")
    except PackageNotFoundError:
        return
    numbers = tuple(int(number) for number in re.findall(r"\d+", installed)[:2])
    if numbers < MASKS_SINCE:
        raise RuntimeError(
            f"TRL {installed} counts a completion without a reward as a reward of 0; install "
            'trl>=1.6, or use `missing="raise"`'
        )
