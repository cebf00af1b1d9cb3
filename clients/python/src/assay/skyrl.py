"""An environment for SkyRL.

In a module of your own, which `skyrl_gym.register(id="assay", entry_point="my_env:Env")` names:

    import assay.skyrl

    Env = assay.skyrl.environment("http://127.0.0.1:8080", template="verl-math")

SkyRL requires a number for every reward, and an error of `step` stops the training. With
`missing="mask"`, the reward is NaN, and `mask` in the generator leaves the trajectory out of the
loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from assay.rollouts import Rollouts, check_missing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions

Output = TypeVar("Output", bound="dict[str, Any]")


def environment(
    server: str | Iterable[str] | None = None,
    *,
    missing: str = "raise",
    **options: Unpack[RolloutOptions],
) -> Callable[..., BaseTextEnv]:
    """A class of environments with one turn.

    The row of a trajectory has the keys of SkyRL's datasets, such as `reward_spec` and
    `extra_info`, and `reward_model`, which equals `reward_spec`.

    - `server`: URL of a server, or several; by default the process starts a private node.
    - `missing`: `"raise"` or `"mask"`, as described above.
    - `options`: the arguments of `assay.Rollouts`.
    """
    masks = check_missing(missing, ("raise", "mask")) == "mask"
    rollouts = Rollouts(server, **options)

    class AssayEnv(BaseTextEnv):
        """Grades the first action, and ends."""

        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            given = dict(extras or {})
            self._row = {"reward_model": given.get("reward_spec"), **given}
            self._prompt: Any = given.get("prompt")
            self._graded = False

        def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
            self._prompt = prompt
            return super().init(prompt)

        def step(self, action: str) -> BaseTextEnvStepOutput:
            results = rollouts.grade([self._row], [action], prompts=[self._prompt])
            if not masks:
                results.rewards()
            self._graded = results.mask[0]
            return BaseTextEnvStepOutput(
                observations=[],
                reward=results.rewards_or(masked=float("nan"))[0],
                done=True,
                metadata={"verdict": results[0].verdict, "grade": results[0].grade},
                postprocessed_action=None,
            )

        def get_metrics(self) -> dict[str, Any]:
            return {"graded": float(self._graded)}

    return AssayEnv


def mask(output: Output, groups: Sequence[Any]) -> Output:
    """Leaves trajectories whose reward is NaN out of the loss, in the output of a generator.

    `groups` names the prompt of each trajectory. Such a trajectory gets a loss mask of zeros, and
    the mean reward of its group, which does not change the mean. Call it in a generator:

        class Generator(SkyRLGymGenerator):
            async def generate(self, input_batch, **kwargs):
                output = await super().generate(input_batch, **kwargs)
                groups = [found.instance_id for found in input_batch["trajectory_ids"]]
                return assay.skyrl.mask(output, groups)
    """
    rewards, masks = list(output["rewards"]), list(output["loss_masks"])
    if not len(groups) == len(rewards) == len(masks):
        raise ValueError(f"{len(groups)} groups for {len(rewards)} trajectories")
    totals = [_total(reward) for reward in rewards]
    graded: dict[Any, list[float]] = {}
    for group, total in zip(groups, totals):
        if not math.isnan(total):
            graded.setdefault(group, []).append(total)
    for position, (group, total) in enumerate(zip(groups, totals)):
        if math.isnan(total):
            others = graded.get(group, [0.0])
            mean = sum(others) / len(others)
            masks[position] = [0] * len(masks[position])
            rewards[position] = _like(rewards[position], mean)
    output["rewards"], output["loss_masks"] = rewards, masks
    return output


def _total(reward: Any) -> float:
    """The reward of a trajectory: a number, or one for each token."""
    return float(sum(reward)) if isinstance(reward, list) else float(reward)


def _like(reward: Any, value: float) -> Any:
    if not isinstance(reward, list):
        return value
    return [value if math.isnan(one) else 0.0 for one in reward]
