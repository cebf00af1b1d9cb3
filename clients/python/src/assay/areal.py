"""Rewards for AReaL's workflows.

    import assay.areal

    workflow = RLVRWorkflow(reward_fn=assay.areal.Reward("http://127.0.0.1:8080"), …)
    workflow.async_reward_fn = assay.areal.AsyncReward("http://127.0.0.1:8080")

AReaL rejects a trajectory whose reward function raises an error, and continues without it. But it
calls the function in a pool of a few processes, and turns 15 seconds without a reply into a reward
of 0, after three more attempts. The time in the queue of the pool counts too, so `Reward` alone
gives zeros if more calls wait than the pool finishes, such as when no server can be reached.
`AsyncReward` does not need the pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError
from assay.rollouts import Rollouts

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

# AReaL waits 15 seconds for a reward.
DEADLINE = 12.0


class Reward:
    """A reward function of AReaL. It can be pickled, because AReaL calls it in other processes.

    It gives up before AReaL's timeout, and never raises a `TimeoutError`.

    The row of a completion has the columns of the dataset and `prompt`.

    - `server`: URL of a server, or several. A private node would start too late.
    - `options`: the arguments of `assay.Rollouts`; `deadline` is at most 12 seconds, the default.
    """

    def __init__(
        self,
        server: str | Iterable[str],
        **options: Unpack[RolloutOptions],
    ) -> None:
        deadline = options.setdefault("deadline", DEADLINE)
        if deadline is None or not deadline <= DEADLINE:
            raise ValueError(
                f"`deadline` is {deadline}; it must be at most {DEADLINE:g} seconds, because AReaL "
                "turns a reward that takes longer than 15 seconds into 0"
            )
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
            return self._rollouts.reward(
                {"prompt": prompt, **row}, completions, prompt=prompt, meta=_meta(completion_ids)
            )
        except TimeoutError as error:
            # AReaL would count it as a reward of 0.
            raise AssayError(f"no reward within the deadline: {error}") from None


class AsyncReward:
    """The attribute `async_reward_fn` of a workflow, which replaces AReaL's pool of processes.

    The row of a completion has the columns of the dataset and `prompt`.

    - `server`: URL of a server, or several; by default the process starts a private node.
    - `options`: the arguments of `assay.Rollouts`.
    """

    def __init__(
        self, server: str | Iterable[str] | None = None, **options: Unpack[RolloutOptions]
    ) -> None:
        self._rollouts = Rollouts(server, **options)

    async def __call__(
        self,
        prompt: str,
        completions: str,
        prompt_ids: Any = None,
        completion_ids: Any = None,
        **row: Any,
    ) -> float:
        """The reward of a completion; raises `NotGradedError` if it has none."""
        return await self._rollouts.reward_async(
            {"prompt": prompt, **row}, completions, prompt=prompt, meta=_meta(completion_ids)
        )


def _meta(tokens: Any) -> dict[str, Any]:
    """Facts about a completion."""
    return {"tokens": len(tokens)} if hasattr(tokens, "__len__") else {}
