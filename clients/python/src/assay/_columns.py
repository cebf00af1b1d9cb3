"""Grades tables: columns of a batch of rows become items, and results become columns."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay._items import encode
from assay._server import Server, serve
from assay._tasks import completion_of, task_of
from assay.client import Client

# Types of the columns of results; other fields are JSON text.
NUMBERS = frozenset({"reward", "score", "score_after_appeal", "advantage", "backward", "forward"})
FLAGS = frozenset({"pass", "deterministic", "cached", "recorded"})
COUNTS = frozenset({"queue_us", "grade_us"})
TEXTS = frozenset(
    {"id", "group", "grade", "channel", "grader", "outcome", "verdict", "advantage_estimator"}
)


# From here on, floats do not represent every integer.
LARGEST_EXACT = 2.0**53


def new_job() -> str:
    """A name for the requests of one pass over a dataset."""
    return uuid.uuid4().hex


def connect(
    urls: str | Iterable[str] | None,
    client_options: Mapping[str, Any] | None,
    server_options: Mapping[str, Any] | None,
) -> tuple[Server | None, Client]:
    """A client of servers; without URLs, a private node and its client."""
    if urls is not None:
        return None, Client(urls, **dict(client_options or {}))
    server = serve(**dict(server_options or {}))
    return server, server.client(**dict(client_options or {}))


@dataclass(frozen=True)
class Columns:
    """The columns that make an item."""

    completion: str
    task: str
    group: str | None
    id: str | None

    def items(self, batch: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The items of a batch of columns."""
        named = [
            (field, column)
            for field, column in (
                ("completion", self.completion),
                ("task", self.task),
                ("group", self.group),
                ("id", self.id),
            )
            if column is not None
        ]
        missing = [column for _, column in named if column not in batch]
        if missing:
            raise KeyError(
                f"no column `{missing[0]}`; the columns are {', '.join(map(str, batch))}"
            )
        columns = [(field, batch[column]) for field, column in named]
        items = [
            {field: _value(field, values[row]) for field, values in columns}
            for row in range(len(columns[0][1]))
        ]
        for item in items:
            # The schemas of the task decide about nulls in the calls of its completion.
            item["completion"] = completion_of("a completion", item["completion"], item["task"])
        return items


def _value(field: str, value: Any) -> Any:
    if hasattr(value, "asDict"):
        # A structure of Spark.
        value = value.asDict(recursive=True)
    if field == "task":
        return task_of("a task", value)
    if field in ("group", "id"):
        return _name(field, value)
    return value


def _name(field: str, value: Any) -> str | None:
    """A group or id as text. A column of numbers with nulls has NaN for them, and decimals."""
    if hasattr(value, "item"):
        value = value.item()
    if _is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        if abs(value) >= LARGEST_EXACT:
            raise ValueError(
                f"the {field} {value!r} has lost its last digits; make the column text or integers"
            )
        return str(int(value))
    return str(value)


def _is_missing(value: Any) -> bool:
    """Whether a value is null in a table: `None`, NaN, or the `NA` and `NaT` of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        # `NA` is neither equal nor unequal.
        return True


@dataclass(frozen=True)
class Rows:
    """How batches of rows are graded."""

    columns: Columns
    fields: Sequence[str]
    prefix: str
    run: str | None
    step: int | None
    policy: str | Mapping[str, Any] | None
    job: str | None

    def results(self, client: Client, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        """The columns of the results of a batch."""
        items = self.columns.items(batch)
        names = {field: self.prefix + field for field in self.fields}
        if not items:
            return {name: [] for name in names.values()}
        results = client.grade(
            items,
            run=self.run,
            step=self.step,
            policy=self.policy,
            fields=self.fields,
            idempotency_key=self._key(items),
        ).to_dicts()
        return {
            name: [_cell(field, result.get(field)) for result in results]
            for field, name in names.items()
        }

    def _key(self, items: list[dict[str, Any]]) -> str | None:
        """The key of a request, equal if the same batch is sent again."""
        if self.job is None:
            return None
        body = encode([items, self.run, self.step, self.policy, list(self.fields)])
        digest = hashlib.blake2b(body, digest_size=16).hexdigest()
        return f"{self.job}-{digest}"


def _cell(field: str, value: Any) -> Any:
    if field in NUMBERS:
        return float("nan") if value is None else value
    if field in FLAGS | COUNTS | TEXTS or value is None:
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
