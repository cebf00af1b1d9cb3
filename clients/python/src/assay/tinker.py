"""An environment for reinforcement learning with the Tinker cookbook.

    Env = assay.tinker.environment("http://127.0.0.1:8080", template="gsm8k")
    builder = ProblemGroupBuilder(env_thunk=partial(Env, renderer, row, row["question"]), …)

A completion without a reward raises an error. The strategy `FailFast` (the default) stops the
training; `MinViableGroup` continues with the other trajectories of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import tinker
from tinker_cookbook.rl.problem_env import ProblemEnv
from tinker_cookbook.rl.types import StepResult

from assay.rollouts import Rollouts, Row

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions


def environment(
    server: str | Iterable[str] | None = None,
    **options: Unpack[RolloutOptions],
) -> Callable[..., ProblemEnv]:
    """A class of single-question environments; its arguments are the renderer, the row and the
    question.

    - `server`: URL of a server, or several; by default the process starts a private node.
    - `options`: the arguments of `assay.Rollouts`.
    """
    rollouts = Rollouts(server, **options)

    class AssayEnv(ProblemEnv):
        """Grades the answer to its question."""

        def __init__(self, renderer: Any, row: Row, question: str, **options: Any) -> None:
            super().__init__(renderer, **options)
            self._row, self._question = row, question

        def get_question(self) -> str:
            return self._question

        def get_reference_answer(self) -> str:
            return str(self._row)

        def check_format(self, sample_str: str) -> bool:
            return True

        def check_answer(self, sample_str: str) -> bool:
            return rollouts.reward(self._row, sample_str, prompt=self._question) > 0.0

        async def step(self, action: Any, *, extra: Any = None) -> StepResult:
            message, termination = self.renderer.parse_response(action)
            content = message["content"]
            if not isinstance(content, str):
                content = "".join(part.get("text", "") for part in content)
            reward = await rollouts.reward_async(
                self._row,
                content,
                prompt=self._question,
                # Older versions return a truth value.
                meta={
                    "tokens": len(action),
                    "truncated": not getattr(termination, "is_clean", termination),
                },
            )
            return StepResult(
                reward=reward,
                episode_done=True,
                next_observation=tinker.ModelInput.empty(),
                next_stop_condition=self.stop_condition,
                metrics={"correct": reward},
            )

    return AssayEnv
