"""Columns of tables become items."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from assay._columns import Columns, Rows

TASK = '{"type":"math","answer":"1"}'


def items(**columns: Any) -> list[dict[str, Any]]:
    made = Columns("completion", "task", "group", "id")
    count = len(next(iter(columns.values())))
    return made.items({"completion": ["1"] * count, "task": [TASK] * count, **columns})


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, None),
        (float("nan"), None),
        (numpy.float64("nan"), None),
        (numpy.datetime64("NaT"), None),
        (3.0, "3"),
        (numpy.float32(3.0), "3"),
        (7, "7"),
        (numpy.int64(2**60), str(2**60)),
        ("a", "a"),
        (numpy.str_("a"), "a"),
        (0.5, "0.5"),
    ],
)
def test_groups_and_ids_are_text_or_missing(value: Any, name: str | None) -> None:
    assert items(group=[value], id=[value])[0]["group"] == name
    assert items(group=[value], id=[value])[0]["id"] == name


def test_missing_values_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"group": [1, 1, None, pandas.NA], "id": ["a", None, "c", pandas.NA]})
    found = items(group=table["group"], id=table["id"])
    assert [item["group"] for item in found] == ["1", "1", None, None]
    assert [item["id"] for item in found] == ["a", None, "c", None]


def test_numbers_that_lost_digits_are_errors() -> None:
    with pytest.raises(ValueError, match="the group 1e\\+16 has lost its last digits"):
        items(group=[1e16], id=[None])


def test_tasks_are_objects_or_text() -> None:
    assert items(group=[None], id=[None])[0]["task"] == {"type": "math", "answer": "1"}
    structure = {"type": "math", "answer": "1", "extract": None}
    (item,) = items(group=[None], id=[None], task=[structure])
    assert item["task"] == {"type": "math", "answer": "1"}
    with pytest.raises(ValueError, match="a task is not JSON: .*: not a task"):
        items(group=[None], id=[None], task=["not a task"])


def test_a_missing_column_is_an_error() -> None:
    made = Columns("response", "task", None, None)
    with pytest.raises(KeyError, match="no column `response`; the columns are completion, task"):
        made.items({"completion": ["1"], "task": [TASK]})


def test_equal_batches_of_a_job_have_equal_keys() -> None:
    def rows(job: str | None, step: int | None = None) -> Rows:
        return Rows(
            Columns("completion", "task", None, None), ("reward",), "", "r", step, None, job
        )

    batch = [{"completion": "1"}]
    assert rows("a")._key(batch) == rows("a")._key(batch)
    assert rows("a")._key(batch) != rows("b")._key(batch)
    assert rows("a")._key(batch) != rows("a", 1)._key(batch)
    assert rows("a")._key(batch) != rows("a")._key([*batch, *batch])
    assert rows(None)._key(batch) is None
