"""The results of a batch, and what to do with items that have no reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

from assay._core import ChunkReply, rebase
from assay.errors import NotGradedError, SplitBatchError
from assay.models import BatchWarning, Channel, Group, Result

M = TypeVar("M")

# Items that an error lists, and items that are printed.
LISTED = 5
PRINTED = 20
WHOLE_BATCH_ESTIMATORS = frozenset({"reinforce_pp", "gpg", "weighted_mean", "weighted_mean/j"})


class Results(Sequence[Result]):
    """The results of a batch in the order of its items, with groups, channels and warnings."""

    def __init__(
        self,
        results: list[dict[str, Any]],
        groups: list[dict[str, Any]],
        channels: list[dict[str, Any]],
        warnings: list[dict[str, Any]],
        batches: list[str],
        requests: int = 1,
    ) -> None:
        self._results = results
        self._groups = groups
        self._channels = channels
        self._warnings = warnings
        self._requests = requests
        self.batches = batches
        """Ids of the batch in the records; several if it was sent in several requests."""

    @classmethod
    def of(cls, size: int, replies: Sequence[ChunkReply]) -> Results:
        """Merges the replies to the requests of a batch."""
        if len(replies) == 1:
            body = replies[0].body
            return cls(
                body["results"],
                body.get("groups", []),
                body.get("channels", []),
                body.get("warnings", []),
                [body["batch"]] if "batch" in body else [],
            )
        results: list[dict[str, Any]] = [{}] * size
        groups: list[dict[str, Any]] = []
        channels: dict[str, dict[str, Any]] = {}
        warnings: list[dict[str, Any]] = []
        batches: list[str] = []
        for reply in replies:
            for position, result in zip(reply.positions, reply.body["results"]):
                results[position] = result
            groups += reply.body.get("groups", [])
            for channel in reply.body.get("channels", []):
                channels.setdefault(channel["channel"], channel)
            for warning in reply.body.get("warnings", []):
                pointer = rebase(warning["pointer"], reply.positions)
                warnings.append({**warning, "pointer": pointer})
            if "batch" in reply.body:
                batches.append(reply.body["batch"])
        return cls(results, groups, list(channels.values()), warnings, batches, len(replies))

    # -- the results

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, position: int) -> Result: ...

    @overload
    def __getitem__(self, position: slice) -> list[Result]: ...

    def __getitem__(self, position: int | slice) -> Result | list[Result]:
        if isinstance(position, slice):
            return [Result(result) for result in self._results[position]]
        return Result(self._results[position])

    def __iter__(self) -> Iterator[Result]:
        return map(Result, self._results)

    def __repr__(self) -> str:
        counts = Counter(result.get("verdict") for result in self._results)
        shown = [f"{count} {name}" for name, count in counts.most_common() if name is not None]
        missing = len(self) - sum(self.mask) if self._has("reward") else 0
        if missing:
            shown.append(f"{missing} without a reward")
        listed = f": {', '.join(shown)}" if shown else ""
        return f"<Results of {len(self)} items{listed}>"

    def __str__(self) -> str:
        """One line for each of the first results, with its verdict and reward."""
        lines = [repr(self)]
        for position, result in enumerate(self._results[:PRINTED]):
            if "reward" in result and result["reward"] is None:
                lines.append(self._reason(position, "reward"))
                continue
            name = "" if result.get("id") is None else f" (`{result['id']}`)"
            values = [str(result["verdict"])] if "verdict" in result else []
            values += [f"reward {result['reward']}"] if "reward" in result else []
            lines.append(f"items[{position}]{name}: {', '.join(values)}")
        if len(self) > PRINTED:
            lines.append(f"and {len(self) - PRINTED} more")
        return "\n".join(lines)

    @property
    def groups(self) -> list[Group]:
        """The groups, in the order of their first items; empty if `fields` leaves them out."""
        return [Group(group) for group in self._groups]

    @property
    def channels(self) -> list[Channel]:
        """The channels with their error rates; empty if `fields` leaves them out."""
        return [Channel(channel) for channel in self._channels]

    @property
    def warnings(self) -> list[BatchWarning]:
        """Defects of the batch that did not cause its rejection."""
        return [BatchWarning(warning) for warning in self._warnings]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The results as JSON objects."""
        return self._results

    # -- numbers

    @property
    def mask(self) -> list[bool]:
        """For each item, whether it has a reward. Leave the others out of the loss."""
        return [reward is not None for reward in self._column("reward")]

    def rewards(self) -> list[float]:
        """The rewards.

        Raises `NotGradedError`, which lists the first such items, if any item has no reward.
        """
        return self._complete("reward", "rewards_or(masked=…)")

    def rewards_or(self, masked: M) -> list[float | M]:
        """The rewards, with `masked` for items without one.

        `masked` is a value that the trainer leaves out of the loss: `float("nan")`, `None`, or
        `0.0` together with `mask`. A 0 without the mask teaches the model that the item was wrong.
        """
        return [masked if one is None else one for one in self._column("reward")]

    def advantages(self) -> list[float]:
        """The advantages.

        Raises `NotGradedError` if items have no advantage: items without a reward, and items whose
        group has fewer than two rewards.
        """
        self._check_comparable()
        return self._complete("advantage", "advantages_or(masked=…)")

    def advantages_or(self, masked: M) -> list[float | M]:
        """The advantages, with `masked` for items without one."""
        self._check_comparable()
        return [masked if one is None else one for one in self._column("advantage")]

    @property
    def not_graded(self) -> list[tuple[int, Result]]:
        """The items that are not graded, with their positions: `ungradable`, where the task is at
        fault, and `failed`, where the service is."""
        return [
            (position, Result(result))
            for position, result in enumerate(self._results)
            if result.get("outcome", "graded") != "graded"
        ]

    # -- internals

    def _has(self, field: str) -> bool:
        return all(field in result for result in self._results)

    def _column(self, field: str) -> list[Any]:
        try:
            return [result[field] for result in self._results]
        except KeyError:
            # Raises the error of the field.
            return [getattr(Result(result), field) for result in self._results]

    def _complete(self, field: str, instead: str) -> list[float]:
        column = self._column(field)
        missing = [position for position, value in enumerate(column) if value is None]
        if not missing:
            return column
        named = "; ".join(self._reason(position, field) for position in missing[:LISTED])
        more = f"; and {len(missing) - LISTED} more" if len(missing) > LISTED else ""
        raise NotGradedError(
            f"{len(missing)} of {len(column)} items have no {field}; leave them out of the loss "
            f"with `mask`, or use `{instead}`: {named}{more}",
            missing,
        )

    def _reason(self, position: int, field: str) -> str:
        result = self._results[position]
        name = "" if result.get("id") is None else f" (`{result['id']}`)"
        error = result.get("error")
        if error is not None:
            what = f"{result.get('outcome')}, `{error['code']}`: {error['message']}"
        elif field == "advantage":
            what = "its group has fewer than two rewards, or the stream has none"
        else:
            what = "graded, but it lacks a value that its policy requires"
        return f"items[{position}]{name}: {what}"

    def _check_comparable(self) -> None:
        """Rejects advantages of several requests that those of one request would not equal."""
        if self._requests == 1:
            return
        used = {result.get("advantage_estimator") for result in self._results} - {None}
        rescaled = len(self._channels) > 1 and all(
            channel["uncorrected"] is None for channel in self._channels
        )
        is_mixed = "mean" in used and (rescaled or "mean/j" in used)
        if used & WHOLE_BATCH_ESTIMATORS or is_mixed:
            raise SplitBatchError(
                f"the batch was sent in {self._requests} requests, but its advantages "
                f"({', '.join(sorted(str(name) for name in used))}) depend on the whole batch; "
                "send fewer items, or compute advantages from the rewards"
            )
