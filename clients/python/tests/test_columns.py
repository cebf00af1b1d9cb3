"""Columns of tables become items."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pyarrow
import pytest
from support import Node

import assay
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


def called(name: str, arguments: Any, **others: Any) -> list[dict[str, Any]]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call], **others},
        {"role": "tool", "content": "done"},
    ]


def used(name: str, given: Any) -> list[dict[str, Any]]:
    """A call as Anthropic's interface returns it."""
    use = {"type": "tool_use", "name": name, "input": given}
    return [{"role": "assistant", "content": [{"type": "text", "text": "Hm."}, use]}]


def tools_task(name: str, key: str) -> str:
    def tool(name: str, key: str) -> dict[str, Any]:
        properties = {key: {"type": "string"}}
        return {"name": name, "parameters": {"type": "object", "properties": properties}}

    return json.dumps(
        {
            "type": "tools",
            "tools": [tool("f", "x"), tool("g", "y")],
            "expected": [{"name": name, "arguments": {key: "1"}}],
        }
    )


@pytest.mark.parametrize("form", [called, used])
def test_calls_in_completions_lose_the_arguments_of_other_rows(form: Any, node: Node) -> None:
    table = pyarrow.Table.from_pylist(
        [
            {"task": tools_task("f", "x"), "completion": form("f", {"x": "1"})},
            {"task": tools_task("g", "y"), "completion": form("g", {"y": "1"})},
            {"task": tools_task("g", "y"), "completion": form("g", {"y": "2"})},
        ]
    )
    assert table["completion"].to_pylist()[0] != form("f", {"x": "1"})
    rows = Rows(Columns("completion", "task", None, None), ("reward",), "", None, None, None, None)
    with assay.Client(node.url) as client:
        found = rows.results(client, table.to_pydict())
        frame = table.to_pandas()
        as_arrays = rows.results(client, {name: frame[name].tolist() for name in frame})
    assert found == as_arrays == {"reward": [1.0, 1.0, 0.0]}


def test_a_null_in_a_completion_that_may_be_a_value_is_an_error() -> None:
    made = Columns("completion", "task", None, None)
    for completion, where in [
        (called("f", {"a": None}), "/0/tool_calls/0/function/arguments/a"),
        (used("f", {"a": {"b": None}}), "/0/content/1/input/a/b"),
    ]:
        with pytest.raises(ValueError, match=f"a completion has null at `{where}`.*JSON text"):
            made.items({"completion": [completion], "task": [TASK]})
    # JSON text has no nulls of a table.
    completion = called("f", json.dumps({"a": None}))
    (item,) = made.items({"completion": [completion], "task": [TASK]})
    assert item["completion"][0]["tool_calls"] == completion[0]["tool_calls"]
