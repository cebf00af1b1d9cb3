"""Rewards for OpenRLHF, in a file that `--reward.remote_url` (`--remote_rm_url`) names.

    import assay.openrlhf

    reward_func = assay.openrlhf.reward_func("http://127.0.0.1:8080", template="gsm8k")

OpenRLHF logs an error of the function, and fails before the optimizer step, because it requires a
number for every reward. With `missing="drop_group"`, the reward is NaN, and dynamic filtering
(`--algo.dynamic_filtering_enable`) drops all samples of the prompt and generates others. Do not use
it without dynamic filtering, because NaN would enter the loss.

The same works without a file:
`--reward.remote_url http://127.0.0.1:8080/compat/openrlhf/grade?template=gsm8k`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from assay.rollouts import Rollouts, check_missing, label_fields

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

NAN = float("nan")
# The column that always has the label.
LABEL = "label"


def reward_func(
    server: str | Iterable[str] | None = None,
    *,
    missing: str = "raise",
    label: str = LABEL,
    **options: Unpack[RolloutOptions],
) -> Callable[..., dict[str, Any]]:
    """The function `reward_func` of OpenRLHF.

    The row of a sample has the columns `label` and `prompt` and, if the label is a JSON object, the
    fields of the label. By default the label is the task.

    - `label`: a further column for a label that is not an object, such as `answer`, as templates
      need it. OpenRLHF does not pass the name of the column that `label_key` names.
    - `server`: URL of a server, or several; by default the process starts a private node.
    - `missing`: `"raise"` or `"drop_group"`, as described above.
    - `options`: the arguments of `assay.Rollouts`.
    """
    drops = check_missing(missing, ("raise", "drop_group")) == "drop_group"
    if options.get("task") is None and options.get("template") is None:
        options["task"] = "label"
    rollouts = Rollouts(server, **options)

    def rewards(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
    ) -> dict[str, Any]:
        if not len(queries) == len(prompts) == len(labels):
            raise ValueError(
                f"{len(queries)} queries, {len(prompts)} prompts and {len(labels)} labels; pass "
                "one of each for a sample"
            )
        rows = [row(prompt, one, label) for prompt, one in zip(prompts, labels)]
        responses = [response(query, prompt) for query, prompt in zip(queries, prompts)]
        results = rollouts.grade(rows, responses, prompts=prompts)
        if not drops:
            results.rewards()
        found = results.rewards_or(masked=NAN)
        # OpenRLHF calls the function with one sample, and makes a tensor of one number.
        one = found[0] if len(found) == 1 else found
        graded = float(all(results.mask))
        return {"rewards": one, "scores": one, "extra_logs": {"graded": graded}}

    return rewards


def row(prompt: str, label: Any, column: str = LABEL) -> dict[str, Any]:
    """The row of a sample. `column` is a further column for a label that is not an object."""
    return {"prompt": prompt, **label_fields(label, column), LABEL: label}


def response(query: str, prompt: str) -> str:
    """The response of a sample: a query is the prompt and the response."""
    return query[len(prompt) :] if query.startswith(prompt) else query
