"""Rewards for verl's reward loop.

In a file that `reward.custom_reward_function.path` names:

    import assay.verl

    compute_score = assay.verl.compute_score("http://127.0.0.1:8080", template="verl-math")

A rollout without a reward raises an error, and verl's trainer leaves the rollout out of the batch.
The manager `rate_limited` would turn the error into a reward of 0; use `naive` or `dapo`.

With `missing="mask"` the score is NaN, and the advantage estimator `assay_grpo` leaves the rollout
out of the mean and the deviation of its group and gives it an advantage of 0. Set
`algorithm.adv_estimator=assay_grpo` and the environment variable
`VERL_USE_EXTERNAL_MODULES=assay.verl_estimators`.

verl's managers pass neither the prompt nor which tokens the model wrote: a rollout with tools has
the output of the tools in its text, and is therefore an error. Use the manager of
`assay.verl_manager`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assay.rollouts import Completion, Prompt, Rollouts, check_missing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

NAN = float("nan")
# `num_turns` of a rollout without tools: the prompt and the answer.
SINGLE_TURN = 2


def compute_score(
    server: str | Iterable[str] | None = None,
    *,
    missing: str = "raise",
    **options: Unpack[RolloutOptions],
) -> Callable[..., Awaitable[dict[str, float]]]:
    """The function `compute_score` of verl.

    The row of a rollout has the keys of verl's datasets: `data_source`, `reward_model` with
    `ground_truth`, `extra_info`, and the entries of `extra_info`.

    - `server`: URL of a server, or several; by default each worker starts a private node.
    - `missing`: `"raise"` or `"mask"`, as described above.
    - `options`: the arguments of `assay.Rollouts`.
    """
    masks = check_missing(missing, ("raise", "mask")) == "mask"
    rollouts = Rollouts(server, **options)

    async def score(
        data_source: str,
        solution_str: Completion,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        *,
        prompt: Prompt | None = None,
        meta: Mapping[str, Any] | None = None,
        is_own_text: bool = False,
        **kwargs: Any,
    ) -> dict[str, float]:
        row = _row(data_source, ground_truth, extra_info or {})
        turns = (extra_info or {}).get("num_turns")
        if not is_own_text and turns is not None and turns > SINGLE_TURN:
            raise ValueError(
                f"the rollout has {turns} turns, and verl's reward manager passes the output of "
                "tools as part of the model's answer; use the manager of `assay.verl_manager`"
            )
        results = await rollouts.grade_async(
            [row], [solution_str], prompts=[prompt], meta=[meta or {}]
        )
        if not masks:
            results.rewards()
        reward = results.rewards_or(masked=NAN)[0]
        graded = results.mask[0]
        # verl reads the keys of the first rollout from every rollout, so all have the same keys.
        return {
            "score": reward,
            "acc": float(results[0].pass_ is True) if graded else NAN,
            "graded": float(graded),
        }

    return score


def _row(data_source: str, ground_truth: Any, extra_info: Mapping[str, Any]) -> dict[str, Any]:
    # Keys that verl adds to `extra_info`.
    added = ("num_turns", "rollout_reward_scores", "turn_scores", "tool_rewards")
    extra = {name: value for name, value in extra_info.items() if name not in added}
    return {
        **extra,
        "data_source": data_source,
        "reward_model": {"ground_truth": ground_truth},
        "extra_info": extra,
    }
