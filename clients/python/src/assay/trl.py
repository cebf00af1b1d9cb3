"""Rewards for TRL and trainers that are built on it, such as Unsloth and Axolotl.

    from assay.trl import Reward

    trainer = GRPOTrainer(model, reward_funcs=Reward("http://127.0.0.1:8080"), train_dataset=rows)

TRL leaves a completion out of the mean and the deviation of its group, and gives it an advantage of
0, if every reward function returned `None` for it. Versions before 1.6 count `None` as a reward of
0, so `Reward` rejects them unless `missing` is `"raise"`.
"""

from __future__ import annotations

import inspect
import re
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Union

from assay._prompts import group_of
from assay.rollouts import OBJECTS, Completion, Rollouts, Row, check_missing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.results import Results
    from assay.rollouts import RolloutOptions

# Arguments of a reward function that are not columns of the dataset.
NOT_COLUMNS = frozenset({"trainer_state", "log_extra", "log_metric", "completion_ids"})
# The first version that leaves a completion without a reward out of its group.
MASKS_SINCE = (1, 6)
Values = Sequence[Union[float, None]]
OtherReward = Callable[..., Union[Values, Awaitable[Values]]]
# The reward functions of this process by name. TRL names metrics after the functions, and would
# mix those of two functions with the same name.
_NAMED: weakref.WeakValueDictionary[str, Reward] = weakref.WeakValueDictionary()


class Reward:
    """A reward function for `reward_funcs`.

    The row of a completion has the columns of the dataset and `prompt`; with the option `session`,
    also the environment of the completion as `environments`.

    - `server`: URL of a server, or several; by default the process starts a private node.
    - `missing`: what happens to a completion without a reward. `"mask"` leaves it out of the loss,
      `"drop_group"` all completions of its prompt that this process has, and `"raise"` stops the
      training.
    - `name`: the name in TRL's metrics: `assay` by default, `assay_2` for a second function, and so
      on.
    - `max_completion_length`: that of TRL's configuration, so that the record and reward policies
      have which completions were truncated.
    - `options`: the arguments of `assay.Rollouts`.
    """

    def __init__(
        self,
        server: str | Iterable[str] | None = None,
        *,
        missing: str = "mask",
        name: str | None = None,
        max_completion_length: int | None = None,
        **options: Unpack[RolloutOptions],
    ) -> None:
        self._missing = check_missing(missing, ("mask", "drop_group", "raise"))
        if missing != "raise":
            _check_version()
        self._rollouts = Rollouts(server, **options)
        self._reads_sessions = options.get("session") is not None
        self._max_completion_length = max_completion_length
        self.__name__ = _unused_name() if name is None else name
        _NAMED[self.__name__] = self
        self._last: tuple[Any, list[bool]] | None = None

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Completion], **columns: Any
    ) -> list[float | None]:
        """The rewards of the completions; `None` for a completion without a reward."""
        groups = [group_of(prompt) for prompt in prompts]
        state = columns.get("trainer_state")
        results = self._rollouts.grade(
            _rows(prompts, columns, with_environments=self._reads_sessions),
            completions,
            prompts=prompts,
            groups=groups,
            meta=self._meta(columns.get("completion_ids"), len(completions)),
            step=None if state is None else int(state.global_step),
        )
        mask = results.mask
        if self._missing == "raise":
            results.rewards()
        elif self._missing == "drop_group":
            dropped = {group for group, graded in zip(groups, mask) if not graded}
            mask = [group not in dropped for group in groups]
        _log(columns, self.__name__, results)
        self._last = (completions, mask)
        rewards = results.rewards_or(masked=None)
        return [reward if kept else None for reward, kept in zip(rewards, mask)]

    def gate(self, other: OtherReward) -> OtherReward:
        """Another reward function, which returns `None` wherever this one did.

        TRL adds up the functions that returned a number, so other functions would still train a
        completion without a reward. List them after this one:
        `reward_funcs=[reward, reward.gate(length)]`. The other function may be asynchronous.
        """

        def gated(completions: Sequence[Completion], **columns: Any) -> Values:
            mask = self._mask_of(completions)
            values = other(completions=completions, **columns)
            if isinstance(values, Awaitable):
                if inspect.iscoroutine(values):
                    values.close()
                raise TypeError(
                    f"the reward function `{named.__name__}` returned a coroutine; define it, or "
                    "its `__call__`, with `async def`"
                )
            return _kept(values, mask)

        async def gated_async(completions: Sequence[Completion], **columns: Any) -> Values:
            mask = self._mask_of(completions)
            values = other(completions=completions, **columns)
            return _kept(await values if inspect.isawaitable(values) else values, mask)

        # TRL awaits the functions that are defined as asynchronous.
        call = getattr(type(other), "__call__", None)  # noqa: B004, the method of an object
        is_async = any(inspect.iscoroutinefunction(one) for one in (other, call))
        named: Any = gated_async if is_async else gated
        named.__name__ = getattr(other, "__name__", type(other).__name__)
        return named  # type: ignore[no-any-return]

    def _mask_of(self, completions: Sequence[Completion]) -> list[bool]:
        if self._last is None or self._last[0] is not completions:
            raise RuntimeError(
                "the completions have not been graded; list the reward of `assay` before the "
                "functions that it gates, in `reward_funcs`"
            )
        return self._last[1]

    def _meta(self, tokens: Any, count: int) -> list[dict[str, Any]]:
        """Facts about completions, of which TRL passes the tokens."""
        if not isinstance(tokens, list) or len(tokens) != count:
            return [{} for _ in range(count)]
        longest = self._max_completion_length
        return [
            {"tokens": len(ids), **({} if longest is None else {"truncated": len(ids) >= longest})}
            for ids in tokens
        ]

    def __getstate__(self) -> dict[str, Any]:
        # The completions of the last call are of this process.
        return {**self.__dict__, "_last": None}


def _kept(values: Values, mask: Sequence[bool]) -> list[float | None]:
    return [value if kept else None for value, kept in zip(values, mask)]


def _unused_name() -> str:
    number = 1
    while (name := "assay" if number == 1 else f"assay_{number}") in _NAMED:
        number += 1
    return name


def _rows(
    prompts: Sequence[Any], columns: Mapping[str, Any], *, with_environments: bool
) -> list[Row]:
    # The columns of a dataset are lists. TRL also passes objects, and may pass others.
    left_out = NOT_COLUMNS | (set() if with_environments else {OBJECTS})
    listed = {
        name: values
        for name, values in columns.items()
        if name not in left_out and isinstance(values, list)
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


def _log(columns: Mapping[str, Any], name: str, results: Results) -> None:
    """Logs the share of completions without a reward, the verdicts, and why rewards are missing,
    if TRL takes them."""
    mask = results.mask
    if columns.get("log_metric") is not None and mask:
        columns["log_metric"](f"{name}/without_reward", 1.0 - sum(mask) / len(mask))
    if columns.get("log_extra") is not None:
        # The names of the columns of the first function are not prefixed.
        prefix = "" if name == "assay" else f"{name}_"
        columns["log_extra"](f"{prefix}verdict", [result.verdict for result in results])
        errors = [result.error for result in results]
        columns["log_extra"](
            f"{prefix}error",
            [None if error is None else f"{error.code}: {error.message}" for error in errors],
        )


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
