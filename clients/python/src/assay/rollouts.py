"""Grades the rollouts of a trainer: makes items from rows and completions, and returns rewards.

The adapters use it. Each passes an item without a reward to its trainer in the way that the trainer
supports, and never as a wrong answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Union

from assay._server import Server, serve
from assay.aio import AsyncClient
from assay.client import Client
from assay.results import Results

if TYPE_CHECKING:
    from typing_extensions import Unpack

Row = Mapping[str, Any]
TaskOf = Union[str, Callable[[Row], Mapping[str, Any]]]
"""The column that has the task, or a function of the row that returns the task."""
Completion = Union[str, Sequence[Mapping[str, Any]]]


class RolloutOptions(TypedDict, total=False):
    """The arguments of `Rollouts` except the server.

    - `key`, `headers`, `deadline`: as in `Client`; 600 seconds by default.
    - `task`: the column that has the task (`task` by default), or a function of the row.
    - `template`: the name of a template with which the server makes the task from the row.
    - `run`: the name of the run in the record. `policy`: the reward policy.
    """

    key: str | None
    headers: Mapping[str, str] | None
    deadline: float | None
    task: TaskOf | None
    template: str | None
    run: str | None
    policy: str | Mapping[str, Any] | None


# Fields of a result that adapters read.
FIELDS = ("reward", "outcome", "error", "verdict", "pass", "grade")
# Seconds for a batch.
DEADLINE = 600.0


def task_maker(task: TaskOf | None, template: str | None) -> Callable[[Row], dict[str, Any]]:
    """The function that makes the task from a row."""
    if template is not None:
        if task is not None:
            raise ValueError("`task` and `template` exclude each other; pass one of them")
        return lambda row: {"template": template, "row": dict(row)}
    if callable(task):
        made = task
        return lambda row: dict(made(row))
    column = "task" if task is None else task

    def read(row: Row) -> dict[str, Any]:
        if column not in row:
            columns = ", ".join(f"`{name}`" for name in row)
            raise KeyError(
                f"no column `{column}` with the task; the columns are {columns}; name the column "
                "with `task`, pass a function, or use `template`"
            )
        found = row[column]
        if isinstance(found, str):
            try:
                found = from_json(found)
            except ValueError as error:
                raise ValueError(
                    f"the column `{column}` is not JSON: {error}: {found[:200]}"
                ) from None
        if not isinstance(found, Mapping):
            raise TypeError(
                f"the column `{column}` is a {type(found).__name__}; a task is an object or JSON"
            )
        # Tables have one set of keys for all rows, with null where a row lacks a key.
        return {key: value for key, value in found.items() if value is not None}

    return read


def from_json(text: str) -> Any:
    """The value of a JSON text. A duplicate key is an error: either value could be meant."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise DuplicateKeyError(f"duplicate key `{name}`")
            found[name] = value
        return found

    return json.loads(text, object_pairs_hook=unique)


class DuplicateKeyError(ValueError):
    """An object in a JSON text has a key twice."""


def label_fields(label: Any) -> Mapping[str, Any]:
    """The fields of a label that is an object, possibly as JSON text; none of another label."""
    if isinstance(label, Mapping):
        return label
    if isinstance(label, str):
        try:
            found = from_json(label)
        except DuplicateKeyError as error:
            raise DuplicateKeyError(f"the label has a {error}: {label[:200]}") from None
        except ValueError:
            return {}
        if isinstance(found, dict):
            return found
    return {}


def completion_of(position: int, completion: Any) -> str | list[Mapping[str, Any]]:
    """A completion as the server expects it."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, (bytes, Mapping)) or not isinstance(completion, Iterable):
        raise TypeError(
            f"the completion at position {position} is a {type(completion).__name__}; a completion "
            "is a text or a list of messages"
        )
    return list(completion)


def group_of(prompt: Any) -> str:
    """The name of the group of a prompt: equal prompts have equal names."""
    text = json.dumps(prompt, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Rollouts:
    """Grades the rollouts of a trainer, with a server or a private node of this process.

    It can be pickled and used after a fork: each process opens its own connections. The adapters
    use it, and so can trainers without an adapter.

    - `server`: one URL or several; `None` starts a private node.
    - `key`, `headers`, `deadline`: as in `Client`; 600 seconds by default.
    - `task`: the column that has the task (`task` by default), or a function of the row.
    - `template`: the name of a template with which the server makes the task from the row.
    - `run`: the name of the run in the record. `policy`: the reward policy.
    """

    def __init__(
        self, server: str | Iterable[str] | None = None, **options: Unpack[RolloutOptions]
    ) -> None:
        unknown = set(options) - set(RolloutOptions.__annotations__)
        if unknown:
            raise TypeError(f"unknown argument `{min(unknown)}`")
        self._urls = server if server is None or isinstance(server, str) else list(server)
        self._options = options
        self._prepare()

    def _prepare(self) -> None:
        self._make_task = task_maker(self._options.get("task"), self._options.get("template"))
        self._lock = threading.Lock()
        self._node: Server | None = None
        self._client: Client | None = None
        self._async_client: AsyncClient | None = None
        _ROLLOUTS.add(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"_urls": self._urls, "_options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    # -- grading

    def grade(
        self,
        rows: Sequence[Row],
        completions: Sequence[Completion],
        *,
        groups: Sequence[str] | None = None,
        step: int | None = None,
    ) -> Results:
        """Grades the completion of each row."""
        items = self._items(rows, completions, groups)
        return self.client().grade(items, fields=FIELDS, **self._batch_arguments(step))

    async def grade_async(
        self,
        rows: Sequence[Row],
        completions: Sequence[Completion],
        *,
        groups: Sequence[str] | None = None,
        step: int | None = None,
    ) -> Results:
        """Like `grade`, for asyncio."""
        items = self._items(rows, completions, groups)
        return await self.async_client().grade(items, fields=FIELDS, **self._batch_arguments(step))

    def reward(self, row: Row, completion: Completion) -> float:
        """The reward of one completion.

        Raises `NotGradedError` if it has none.
        """
        return self.grade([row], [completion]).rewards()[0]

    async def reward_async(self, row: Row, completion: Completion) -> float:
        """Like `reward`, for asyncio."""
        return (await self.grade_async([row], [completion])).rewards()[0]

    def _items(
        self,
        rows: Sequence[Row],
        completions: Sequence[Completion],
        groups: Sequence[str] | None,
    ) -> list[dict[str, Any]]:
        if len(rows) != len(completions):
            raise ValueError(f"{len(completions)} completions for {len(rows)} rows")
        items = []
        for position, (row, completion) in enumerate(zip(rows, completions)):
            item: dict[str, Any] = {
                "completion": completion_of(position, completion),
                "task": self._make_task(row),
            }
            if groups is not None:
                item["group"] = groups[position]
            items.append(item)
        return items

    def _batch_arguments(self, step: int | None) -> dict[str, Any]:
        return {
            "run": self._options.get("run"),
            "step": step,
            "policy": self._options.get("policy"),
        }

    # -- connections

    def client(self) -> Client:
        """The client of this process."""
        with self._lock:
            if self._client is None:
                self._client = Client(self._servers(), **self._client_arguments())
            return self._client

    def async_client(self) -> AsyncClient:
        """The client of this process for asyncio."""
        with self._lock:
            if self._async_client is None:
                self._async_client = AsyncClient(self._servers(), **self._client_arguments())
            return self._async_client

    def _client_arguments(self) -> dict[str, Any]:
        given = {name: self._options.get(name) for name in ("key", "headers")}
        return {**given, "deadline": self._options.get("deadline", DEADLINE)}

    def _servers(self) -> str | list[str]:
        if self._urls is not None:
            return self._urls
        if self._node is None:
            self._node = serve()
        return self._node.url


_ROLLOUTS: weakref.WeakSet[Rollouts] = weakref.WeakSet()


def _after_fork() -> None:
    """Renews the locks in a child, which other threads of the parent may have held."""
    for rollouts in list(_ROLLOUTS):
        rollouts._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def check_missing(missing: str, allowed: Sequence[str]) -> str:
    """Checks the argument `missing` of an adapter."""
    if missing not in allowed:
        names = ", ".join(f'"{name}"' for name in allowed)
        raise ValueError(f"`missing` is {missing!r}; it must be one of {names}")
    return missing
