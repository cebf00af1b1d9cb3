"""Rewards for slime: `--custom-rm-path my_rewards.reward`, in a module `my_rewards`.

    import assay.slime

    reward = assay.slime.reward("http://127.0.0.1:8080", template="gsm8k")

An error of the function stops the rollout. With `missing="drop_group"` and
`--dynamic-sampling-filter-path assay.slime.check_graded`, slime drops the samples of the prompt and
generates others; in evaluation, which has no filter, the reward is NaN. With `missing="mask"` and
`--group-rm`, slime leaves the sample out of the loss.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from assay.rollouts import Rollouts, check_missing, label_fields

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

NAN = float("nan")
# The column that always has the label.
LABEL = "label"
# Key in the metadata of a sample without a reward.
WITHOUT_REWARD = "assay_without_reward"
FILTER = "assay.slime.check_graded"


def reward(
    server: str | Iterable[str] | None = None,
    *,
    missing: str = "raise",
    label: str = LABEL,
    **options: Unpack[RolloutOptions],
) -> Callable[..., Awaitable[Any]]:
    """The function for `--custom-rm-path`, with and without `--group-rm`.

    The row of a sample has its metadata, `label`, the entries of the label if it is a JSON object,
    and `prompt`. By default the label is the task.

    - `label`: a further column for a label that is not an object, such as `answer`, as templates
      need it. slime does not pass the name of the column that `label_key` names.
    - `server`: URL of a server, or several; by default the process starts a private node.
    - `missing`: `"raise"`, `"drop_group"` or `"mask"`, as described above.
    - `options`: the arguments of `assay.Rollouts`.
    """
    check_missing(missing, ("raise", "drop_group", "mask"))
    if options.get("task") is None and options.get("template") is None:
        options["task"] = "label"
    rollouts = Rollouts(server, **options)

    async def rewards(args: Any, samples: Any, **kwargs: Any) -> Any:
        is_group = isinstance(samples, list)
        group = samples if is_group else [samples]
        _check_arguments(args, missing, is_group)
        results = await rollouts.grade_async(
            [_row(sample, label) for sample in group],
            [sample.response for sample in group],
            prompts=[sample.prompt for sample in group],
            meta=[_meta(sample) for sample in group],
        )
        if missing == "raise":
            results.rewards()
        found = [one for one in results.rewards_or(masked=None) if one is not None]
        # Evaluation has no filter, so what the filter would drop must not be a number.
        placeholder = NAN
        if missing == "mask":
            # The mean of the others does not change the mean of the group.
            placeholder = sum(found) / len(found) if found else 0.0
        for sample, graded in zip(group, results.mask):
            if not graded:
                sample.metadata = {**(sample.metadata or {}), WITHOUT_REWARD: True}
                sample.remove_sample = True
        values = results.rewards_or(masked=placeholder)
        return values if is_group else values[0]

    return rewards


def check_graded(args: Any, samples: Sequence[Any], **kwargs: Any) -> Any:
    """Drops a group with a sample without a reward, for `--dynamic-sampling-filter-path`."""
    from slime.rollout.filter_hub.base_types import DynamicFilterOutput

    keep = not any((sample.metadata or {}).get(WITHOUT_REWARD) for sample in samples)
    return DynamicFilterOutput(keep=keep, reason=None if keep else "without_reward")


def _check_arguments(args: Any, missing: str, is_group: bool) -> None:
    """Rejects arguments of slime with which a sample without a reward would count as 0."""
    path = getattr(args, "dynamic_sampling_filter_path", None)
    if missing == "drop_group" and path != FILTER:
        raise ValueError(
            f'`missing="drop_group"` requires `--dynamic-sampling-filter-path {FILTER}`'
        )
    if missing == "mask" and not is_group:
        raise ValueError('`missing="mask"` requires `--group-rm`')


def _meta(sample: Any) -> dict[str, Any]:
    """Facts about a sample."""
    tokens = getattr(sample, "response_length", None)
    status = getattr(sample, "status", None)
    found: dict[str, Any] = {} if tokens is None else {"tokens": int(tokens)}
    if status is not None:
        # The status of slime is an enumeration of texts.
        found["truncated"] = getattr(status, "value", status) == "truncated"
    return found


def _row(sample: Any, column: str) -> dict[str, Any]:
    fields = label_fields(sample.label, column)
    return {**(sample.metadata or {}), **fields, LABEL: sample.label, "prompt": sample.prompt}
