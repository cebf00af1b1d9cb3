"""Rewards for AReaL's workflows.

    import assay.areal

    workflow = RLVRWorkflow(reward_fn=assay.areal.Reward("http://127.0.0.1:8080"), …)

AReaL rejects a trajectory whose reward function raises an error, and continues without it. But it
counts its own timeout and a `TimeoutError` as a reward of 0. `Reward` gives up before that, and
raises another error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, DeadlineExceededError
from assay.rollouts import Rollouts

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

# AReaL waits 15 seconds for a reward.
DEADLINE = 12.0


class Reward:
    """A reward function of AReaL. It can be pickled, because AReaL calls it in other processes.

    The row of a completion has the columns of the dataset and `prompt`.

    - `server`: URL of a server, or several. A private node would start too late.
    - `options`: the arguments of `assay.Rollouts`; `deadline` is 12 seconds by default. A function
      for `task` must be one of a module, so that it can be pickled.
    """

    def __init__(
        self,
        server: str | Iterable[str],
        **options: Unpack[RolloutOptions],
    ) -> None:
        options.setdefault("deadline", DEADLINE)
        self._rollouts = Rollouts(server, **options)

    def __call__(
        self,
        prompt: str,
        completions: str,
        prompt_ids: Any = None,
        completion_ids: Any = None,
        **row: Any,
    ) -> float:
        """The reward of a completion; raises `NotGradedError` if it has none."""
        try:
            return self._rollouts.reward({"prompt": prompt, **row}, completions)
        except DeadlineExceededError as error:
            # This is a `TimeoutError`, which AReaL would count as a reward of 0.
            raise AssayError(f"no reward within the deadline: {error}") from None
