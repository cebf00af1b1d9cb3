"""A reward for tasks of verifiers, which prime-rl uses too.

    import assay.verifiers
    import verifiers.v1 as vf

    class MathTask(vf.Task[MathData]):
        correct = assay.verifiers.reward("http://127.0.0.1:8080", template="gsm8k")

A completion without a reward raises an error. verifiers records it as an error of the rollout, and
the rollout has no reward. Rubrics of versions before 0.2 turn every error into a reward of 0.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import verifiers.v1 as vf

from assay.rollouts import Rollouts

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions


def reward(
    server: str | Iterable[str] | None = None,
    *,
    name: str = "assay",
    weight: float = 1.0,
    **options: Unpack[RolloutOptions],
) -> Callable[..., Awaitable[float]]:
    """A method of a task that grades the last reply of a trace.

    The row of a trace has the fields of its task's data.

    - `server`: URL of a server, or several; by default the process starts a private node.
    - `name`, `weight`: the name and weight of the reward in a trace.
    - `options`: the arguments of `assay.Rollouts`.
    """
    rollouts = Rollouts(server, **options)

    async def graded(self: Any, task: Any, trace: Any) -> float:
        row = task.model_dump(mode="json", exclude_none=True)
        truncated = getattr(trace, "is_truncated", None)
        return await rollouts.reward_async(
            row,
            trace.last_reply,
            prompt=_prompt(row),
            meta={} if truncated is None else {"truncated": bool(truncated)},
        )

    graded.__name__ = name
    return vf.reward(graded, weight=weight)


def _prompt(row: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The messages before the first reply: the system prompt of a task and its prompt."""
    prompt, system = row.get("prompt"), row.get("system_prompt")
    if not prompt:
        return None
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    return [{"role": "system", "content": system}, *messages] if system else messages
