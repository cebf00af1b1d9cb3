"""Encodes batches, and divides them into requests that never split a group."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.errors import RequestRejectedError, SplitBatchError

# These statistics of a group depend on the other groups of the batch.
WHOLE_BATCH_STATISTICS = frozenset({"reinforce_pp", "gpg", "extra_rollouts", "curriculum"})


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy, torch and the like as plain values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"`{type(value).__name__}` is not a JSON value")


# Escapes everything outside ASCII, because a lone surrogate has no encoding in UTF-8.
_ENCODER = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_plain
)


def _item(position: int, item: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    if isinstance(item, Mapping):
        return dict(item)
    raise TypeError(f"items[{position}] is `{type(item).__name__}`, not a mapping")


def _list(items: Sequence[dict[str, Any]]) -> str:
    """Items as JSON, separated by commas."""
    try:
        # Encoding all at once takes half the time of encoding each.
        return _ENCODER.encode(items)[1:-1]
    except (TypeError, ValueError, RecursionError) as whole:
        for position, item in enumerate(items):
            try:
                _ENCODER.encode(item)
            except (TypeError, ValueError, RecursionError) as error:
                raise type(error)(f"items[{position}]: {error}") from None
        raise whole from None


def encode(value: Any) -> bytes:
    """A value as JSON."""
    return _ENCODER.encode(value).encode("ascii")


@dataclass(frozen=True)
class Options:
    """What a request contains apart from its items."""

    run: str | None = None
    step: int | None = None
    policy: str | Mapping[str, Any] | None = None
    statistics: tuple[str, ...] = ()
    fields: tuple[str, ...] | None = None
    shared: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        run: str | None,
        step: int | None,
        policy: str | Mapping[str, Any] | None,
        statistics: Iterable[str],
        fields: Iterable[str] | None,
        shared: Mapping[str, Any] | None = None,
    ) -> Options:
        """The options for the arguments of a call."""
        for name, value in (("statistics", statistics), ("fields", fields)):
            if isinstance(value, str):
                raise TypeError(f"`{name}` is a list of names, not text")
        given = None if fields is None else tuple(fields)
        if given == ():
            raise ValueError("`fields` is empty; name at least one field, such as `reward`")
        number = None if step is None else int(operator.index(step))
        return cls(run, number, policy, tuple(statistics), given, shared)

    def head(self, extra_fields: Iterable[str] = ()) -> str:
        """The start of the body, up to the items."""
        values: dict[str, Any] = {}
        if self.run is not None:
            values["run"] = self.run
        if self.step is not None:
            values["step"] = self.step
        if self.policy is not None:
            values["policy"] = self.policy
        if self.statistics:
            values["statistics"] = self.statistics
        if self.fields is not None:
            values["fields"] = list(dict.fromkeys([*self.fields, *extra_fields]))
        if self.shared:
            values["shared"] = self.shared
        text = _ENCODER.encode(values)
        return text[:-1] + ("," if values else "") + '"items":['


@dataclass(frozen=True)
class Batch:
    """The items of a call, encoded."""

    options: Options
    # The items, separated by commas.
    text: str
    items: Sequence[dict[str, Any]]
    # Positions of the items of each group; groups are in the order of their first item.
    groups: list[list[int]]
    # Whether items name groups, and whether they have policies.
    has_groups: bool
    has_policies: bool
    # Task types of the items.
    types: frozenset[Any]

    @classmethod
    def encode(cls, items: Iterable[Mapping[str, Any]], options: Options) -> Batch:
        """Encodes items. Errors name the position of the item."""
        if isinstance(items, (Mapping, str, bytes)):
            raise TypeError(f"`items` is `{type(items).__name__}`, not a list of items")
        listed = [_item(position, item) for position, item in enumerate(items)]
        if not listed:
            raise ValueError("there are no items")
        groups: list[list[int]] = []
        types: set[Any] = set()
        has_policies = False
        named: dict[str, list[int]] = {}
        for position, item in enumerate(listed):
            task = item.get("task")
            kind = task.get("type") if isinstance(task, dict) else None
            types.add(kind if isinstance(kind, str) else None)
            has_policies = has_policies or item.get("policy") is not None
            group = item.get("group")
            if not isinstance(group, str):
                groups.append([position])
                continue
            members = named.get(group)
            if members is None:
                members = named[group] = []
                groups.append(members)
            members.append(position)
        text = _list(listed)
        return cls(options, text, listed, groups, bool(named), has_policies, frozenset(types))

    @classmethod
    def join(cls, batches: Sequence[Batch]) -> Batch:
        """One batch of several without groups, which have the same options."""
        items = [item for batch in batches for item in batch.items]
        return cls(
            batches[0].options,
            ",".join(batch.text for batch in batches),
            items,
            [[position] for position in range(len(items))],
            False,
            any(batch.has_policies for batch in batches),
            frozenset().union(*(batch.types for batch in batches)),
        )

    @cached_property
    def texts(self) -> list[str]:
        """Each item as JSON."""
        return [_ENCODER.encode(item) for item in self.items]

    @property
    def ids(self) -> list[str | None]:
        """The id of each item, or `None`. The server rejects an id that is not text."""
        names = [item.get("id") for item in self.items]
        return [name if isinstance(name, str) else None for name in names]

    def __len__(self) -> int:
        return len(self.items)

    def chunks(self, max_items: int, max_bytes: int) -> list[Chunk]:
        """The requests of the batch. A group that exceeds the limits is a request by itself."""
        if len(self) <= max_items and len(self.text) <= max_bytes:
            return [Chunk(self, self.groups, False)]
        divided: list[list[list[int]]] = [[]]
        count = size = 0
        for group in self.groups:
            group_size = sum(len(self.texts[position]) + 1 for position in group)
            if count and (count + len(group) > max_items or size + group_size > max_bytes):
                divided.append([])
                count = size = 0
            divided[-1].append(group)
            count += len(group)
            size += group_size
        if len(divided) > 1:
            self.check_divisible()
        return [Chunk(self, groups, len(divided) > 1) for groups in divided]

    def check_divisible(self) -> None:
        """Rejects a batch whose results would differ if it were sent in several requests."""
        whole = WHOLE_BATCH_STATISTICS.intersection(self.options.statistics)
        if whole:
            names = ", ".join(f"`{name}`" for name in sorted(whole))
            raise SplitBatchError(
                f"{names} depend on the whole batch, which does not fit one request; send fewer "
                "items, or raise `chunk_items`, `chunk_bytes` or the limits of the server"
            )
        self.check_ids()

    def check_ids(self) -> None:
        """Rejects ids that occur twice, as the server does in one request."""
        seen: set[str] = set()
        for name in self.ids:
            if name is None:
                continue
            if name in seen:
                raise ValueError(f"the id `{name}` occurs twice; make ids unique in the batch")
            seen.add(name)


@dataclass(frozen=True)
class Chunk:
    """The groups of a batch that are sent in one request."""

    batch: Batch
    groups: Sequence[list[int]]
    # Whether the batch has further requests.
    is_part: bool

    def positions(self) -> list[int]:
        """Positions of the items in the batch, ascending."""
        return sorted(position for group in self.groups for position in group)

    def body(self) -> bytes:
        """The body of the request."""
        # These fields show whether the advantages of several requests are comparable.
        options = self.batch.options
        extra: tuple[str, ...] = ()
        if self.is_part and options.fields is not None and "advantage" in options.fields:
            extra = ("advantage_estimator", "channels")
        text = (
            ",".join(self.batch.texts[position] for position in self.positions())
            if self.is_part
            else self.batch.text
        )
        return f"{options.head(extra)}{text}]}}".encode("ascii")

    def halves(self, error: RequestRejectedError) -> tuple[Chunk, Chunk]:
        """Two requests instead of this one, which is too large; `error` if it is one group."""
        if len(self.groups) < 2:
            raise error
        self.batch.check_divisible()
        middle = len(self.groups) // 2
        return (
            Chunk(self.batch, self.groups[:middle], True),
            Chunk(self.batch, self.groups[middle:], True),
        )
