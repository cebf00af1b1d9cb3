"""Grades the rollouts of a trainer: makes items from rows and completions, and returns rewards.

The adapters use it. Each passes an item without a reward to its trainer in the way that the trainer
supports, and never as a wrong answer.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Union, cast

from assay._functions import as_picklable, from_pickled
from assay._missing import MissingRewards
from assay._prompts import group_of, opens_think, prompt_of
from assay._server import Server, serve
from assay._tasks import DuplicateKeyError, from_json, task_of
from assay.aio import AsyncClient
from assay.client import Client
from assay.errors import PromptMissingError
from assay.results import Results

if TYPE_CHECKING:
    from typing_extensions import Unpack

Row = Mapping[str, Any]
TaskOf = Union[str, Callable[[Row], Union[str, Mapping[str, Any]]]]
"""The column that has the task, or a function of the row that returns the task: an object, or JSON
text."""
Completion = Union[str, Sequence[Mapping[str, Any]]]
Prompt = Union[str, Sequence[Mapping[str, Any]]]
PromptOf = Union[str, Callable[[Row], Prompt]]
"""The column that has the prompt, or a function of the row that returns the prompt."""
SessionOf = Union[str, Callable[[Row], Union[str, None]]]
"""The column that has the id of a session, or a function of the row that returns it or `None`."""


class RolloutOptions(TypedDict, total=False):
    """The arguments of `Rollouts` except the server.

    - `key`, `headers`, `deadline`, `server_timeout`: as in `Client`; the deadline is 600 seconds by
      default.
    - `task`: the column that has the task (`task` by default), or a function of the row.
    - `template`: the name of a template with which the server makes the task from the row.
    - `prompt`: the column that has the prompt, or a function of the row, where the trainer does not
      pass the prompt; by default the column `prompt`, if there is one.
    - `think_open`: whether completions start inside `<think>`; by default they do if the text of
      the prompt ends with `<think>`.
    - `session`: the column that has the id of the interpreter session of a completion, or a
      function of the row; its log becomes a check. The session must be open on the server.
    - `run`: the name of the run in the record. `policy`: the reward policy.
    """

    key: str | None
    headers: Mapping[str, str] | None
    deadline: float | None
    server_timeout: float | None
    task: TaskOf | None
    template: str | None
    prompt: PromptOf | None
    think_open: bool | None
    session: SessionOf | None
    run: str | None
    policy: str | Mapping[str, Any] | None


# Fields of a result that adapters read.
FIELDS = ("reward", "outcome", "error", "verdict", "pass", "grade", "grader")
# Seconds for a batch.
DEADLINE = 600.0
# The field of a row with an object that TRL adds.
OBJECTS = "environments"


def task_maker(task: TaskOf | None, template: str | None) -> Callable[[Row], dict[str, Any]]:
    """The function that makes the task from a row."""
    if template is not None:
        if task is not None:
            raise ValueError("`task` and `template` exclude each other; pass one of them")
        return lambda row: {
            "template": template,
            "row": {name: value for name, value in row.items() if name != OBJECTS},
        }
    if callable(task):
        made = task
        # The parts of a row that the function returns have the nulls of a table too.
        return lambda row: task_of("the task that the function returns", made(row))
    column = "task" if task is None else task

    def read(row: Row) -> dict[str, Any]:
        if column not in row:
            columns = ", ".join(f"`{name}`" for name in row)
            raise KeyError(
                f"no column `{column}` with the task; the columns are {columns}; name the column "
                "with `task`, pass a function, or use `template`"
            )
        return task_of(f"the column `{column}`", row[column])

    return read


def label_fields(label: Any, column: str) -> Mapping[str, Any]:
    """The fields of a label that is an object, or JSON text of one; `column` for another label."""
    if isinstance(label, Mapping):
        return label
    if isinstance(label, str):
        try:
            found = from_json(label)
        except DuplicateKeyError as error:
            raise DuplicateKeyError(f"the label has a {error}: {label[:200]}") from None
        except ValueError:
            return {column: label}
        if isinstance(found, dict):
            return found
    return {column: label}


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


class Rollouts:
    """Grades the rollouts of a trainer, with a server or a private node of this process.

    It can be pickled and used after a fork: each process opens its own connections. The adapters
    use it, and so can trainers without an adapter.

    - `server`: one URL or several; `None` starts a private node.
    - `key`, `headers`, `deadline`, `server_timeout`: as in `Client`; the deadline is 600 seconds by
      default.
    - `task`: the column that has the task (`task` by default), or a function of the row.
    - `template`: the name of a template with which the server makes the task from the row.
    - `prompt`: the column that has the prompt, or a function of the row, where the trainer does not
      pass the prompt; by default the column `prompt`, if there is one.
    - `think_open`: whether completions start inside `<think>`; by default they do if the text of
      the prompt ends with `<think>`.
    - `session`: the column that has the id of the interpreter session of a completion, or a
      function of the row; its log becomes a check. The session must be open on the server.
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
        self._missing = MissingRewards()
        self._node: Server | None = None
        self._client: Client | None = None
        self._async_client: AsyncClient | None = None
        _ROLLOUTS.add(self)

    def __getstate__(self) -> dict[str, Any]:
        options = {name: as_picklable(name, value) for name, value in self._options.items()}
        return {"_urls": self._urls, "_options": options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._urls = state["_urls"]
        options = {name: from_pickled(value) for name, value in state["_options"].items()}
        self._options = cast("RolloutOptions", options)
        self._prepare()

    # -- grading

    def grade(
        self,
        rows: Sequence[Row],
        completions: Sequence[Completion],
        *,
        prompts: Sequence[Prompt | None] | None = None,
        groups: Sequence[str] | None = None,
        meta: Sequence[Mapping[str, Any]] | None = None,
        step: int | None = None,
    ) -> Results:
        """Grades the completion of each row.

        - `prompts`: the prompt of each row, where it is not in a column.
        - `groups`: the name of the group of each row.
        - `meta`: facts about each completion, such as `tokens` and `truncated`.
        """
        items = self._items(rows, completions, prompts, groups, meta)
        graded = self.client().grade(items, fields=FIELDS, **self._batch_arguments(step))
        return self._checked(items, graded)

    async def grade_async(
        self,
        rows: Sequence[Row],
        completions: Sequence[Completion],
        *,
        prompts: Sequence[Prompt | None] | None = None,
        groups: Sequence[str] | None = None,
        meta: Sequence[Mapping[str, Any]] | None = None,
        step: int | None = None,
    ) -> Results:
        """Like `grade`, for asyncio."""
        items = self._items(rows, completions, prompts, groups, meta)
        client = self.async_client()
        graded = await client.grade(items, fields=FIELDS, **self._batch_arguments(step))
        return self._checked(items, graded)

    def reward(
        self,
        row: Row,
        completion: Completion,
        *,
        prompt: Prompt | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> float:
        """The reward of one completion.

        Raises `NotGradedError` if it has none.
        """
        return self.grade([row], [completion], prompts=[prompt], meta=[meta or {}]).rewards()[0]

    async def reward_async(
        self,
        row: Row,
        completion: Completion,
        *,
        prompt: Prompt | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> float:
        """Like `reward`, for asyncio."""
        graded = await self.grade_async([row], [completion], prompts=[prompt], meta=[meta or {}])
        return graded.rewards()[0]

    def _items(
        self,
        rows: Sequence[Row],
        completions: Sequence[Completion],
        prompts: Sequence[Prompt | None] | None,
        groups: Sequence[str] | None,
        meta: Sequence[Mapping[str, Any]] | None,
    ) -> list[dict[str, Any]]:
        if len(rows) != len(completions):
            raise ValueError(f"{len(completions)} completions for {len(rows)} rows")
        items = []
        for position, (row, completion) in enumerate(zip(rows, completions)):
            item: dict[str, Any] = {
                "completion": completion_of(position, completion),
                "task": self._make_task(row),
            }
            given = None if prompts is None else prompts[position]
            prompt, is_whole = prompt_of(given, row, self._options.get("prompt"))
            if prompt is not None:
                item["prompt"] = prompt
            if not is_whole:
                # The default is a hash of the prompt and the task, which several prompts can share.
                item["prompt_key"] = group_of(row if given is None else given)
            facts = dict(meta[position]) if meta is not None else {}
            think_open = self._options.get("think_open")
            if opens_think(prompt) if think_open is None else think_open:
                facts["think_open"] = True
            if facts:
                item["meta"] = facts
            if groups is not None:
                item["group"] = groups[position]
            session = self._session_of(row)
            if session is not None:
                item["session"] = session
            items.append(item)
        return items

    def _session_of(self, row: Row) -> str | None:
        session = self._options.get("session")
        if session is None:
            return None
        found = session(row) if callable(session) else row.get(session)
        if found is not None and not isinstance(found, str):
            raise TypeError(f"the id of a session must be a text, not {type(found).__name__}")
        return found

    def _checked(self, items: Sequence[Mapping[str, Any]], results: Results) -> Results:
        """Logs missing rewards. Rejects those that no completion of the run would have."""
        self._missing.add(results)
        for position, result in results.not_graded:
            if (
                result.grader == "reward_model"
                and result.outcome == "ungradable"
                and "prompt" not in items[position]
            ):
                error = result.error
                raise PromptMissingError(
                    f"items[{position}] has a task for a reward model, but its row has no prompt"
                    f"{'' if error is None else f': {error.message}'}; name the column that has "
                    "the prompt with `prompt`, or pass a function of the row"
                )
        return results

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
        given: dict[str, Any] = {name: self._options.get(name) for name in ("key", "headers")}
        if self._options.get("server_timeout") is not None:
            given["server_timeout"] = self._options.get("server_timeout")
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
