"""Tasks in columns of tables, which have one set of keys for the objects of all rows."""

from __future__ import annotations

import json
from typing import Any

import pyarrow
import pytest
from support import Node
from task_rows import ROWS

import assay
from assay._columns import Columns
from assay._tasks import task_of

TEXT = "make the task JSON text"


def through_arrow(tasks: list[Any]) -> list[Any]:
    """The tasks as a table returns them."""
    read: list[Any] = pyarrow.Table.from_pylist([{"task": one} for one in tasks])[
        "task"
    ].to_pylist()
    return read


def nulls(value: Any) -> int:
    """The number of nulls in a value, at every depth."""
    if isinstance(value, dict):
        return sum(map(nulls, value.values()))
    return sum(map(nulls, value)) if isinstance(value, list) else value is None


@pytest.mark.parametrize("grader", ROWS)
def test_tasks_of_different_shapes_are_read_as_written(grader: str, node: Node) -> None:
    rows = ROWS[grader]
    tasks = [row.task for row in rows]
    read = through_arrow(tasks)
    assert nulls(read) > nulls(tasks)
    # A function of the row returns parts of a table too.
    for option in (None, lambda row: row["task"]):
        rollouts = assay.Rollouts(node.url, task=option)
        asked = [{"task": task} for task in read] * 2
        rewards = rollouts.grade(asked, [r.right for r in rows] + [r.wrong for r in rows]).rewards()
        assert rewards == [1.0] * len(rows) + [0.0] * len(rows)
    assert [task_of("the task", task) for task in read] == tasks
    columns = Columns("completion", "task", None, None)
    made = columns.items({"completion": ["1"] * len(rows), "task": read})
    assert [item["task"] for item in made] == tasks


def test_a_column_may_mix_tasks_with_templates(node: Node) -> None:
    template = {"template": "gsm8k", "row": {"question": "1+2?", "answer": "#### 3"}}
    tasks: list[dict[str, Any]] = [
        template,
        {"type": "math", "answer": "3"},
        {"type": "math", "answer": "2.5", "tolerance": {"absolute": 0.1}},
        {"type": "structured", "expected": {"a": 1}},
    ]
    read = through_arrow(tasks)
    asked = [{"task": task} for task in read] * 2
    right = ["It is 3", "\\boxed{3}", "\\boxed{2.55}", '{"a":1}']
    wrong = ["It is 4", "\\boxed{4}", "\\boxed{2.7}", '{"a":2}']
    rewards = assay.Rollouts(node.url).grade(asked, right + wrong).rewards()
    assert rewards == [1.0] * 4 + [0.0] * 4
    assert [task_of("the task", task) for task in read] == tasks
    # Beside templates too, a null that may be a value is an error and not a wrong answer.
    documents = [{"type": "structured", "expected": {name: 1}} for name in ("a", "b")]
    for task in through_arrow([template, *documents])[1:]:
        with pytest.raises(ValueError, match=f"null at `/expected/.`.*{TEXT}"):
            task_of("the task", task)


def test_definitions_of_tools_may_have_different_forms() -> None:
    first = {"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}
    second = {
        "type": "function",
        "function": {"name": "g", "parameters": {"type": "object", "properties": {"b": {}}}},
    }
    third = {"name": "h", "input_schema": {"type": "object", "properties": {"c": {}}}}
    tasks = [
        {
            "type": "tools",
            "tools": [first, second, third],
            "expected": [{"name": name, "arguments": {key: 1}}],
        }
        for name, key in [("f", "a"), ("g", "b"), ("h", "c")]
    ]
    assert [task_of("the task", task) for task in through_arrow(tasks)] == tasks


def test_reward_model_tasks_lose_their_nulls() -> None:
    tasks = [{"type": "reward_model", "threshold": 0.5}, {"type": "reward_model", "model": "m"}]
    assert [task_of("the task", task) for task in through_arrow(tasks)] == tasks


def test_a_value_that_is_null_is_kept_in_json_text() -> None:
    for task in (
        {"type": "structured", "expected": {"a": None, "b": [{"c": None}]}},
        {"type": "structured", "schema": {"properties": {"a": {"const": None}}}},
        {"type": "tools", "expected": [{"name": "f", "arguments": {"a": None}}]},
        {"type": "code", "language": "python", "tests": [{"call": "f", "returns": {"a": None}}]},
    ):
        assert task_of("the task", json.dumps(task)) == task
    # Elsewhere, null in JSON text is an absent key too.
    text = json.dumps(
        {"type": "math", "answer": "1", "tolerance": {"absolute": 1, "relative": None}}
    )
    assert task_of("the task", text)["tolerance"] == {"absolute": 1}


@pytest.mark.parametrize(
    ("task", "where"),
    [
        ({"type": "structured", "expected": {"a": {"b": None}}}, "/expected/a/b"),
        (
            {"type": "structured", "expected": {"a": None}, "schema": {"type": "object"}},
            "/expected/a",
        ),
        (
            {"type": "structured", "schema": {"properties": {"a": {"const": None}}}},
            "/schema/properties/a/const",
        ),
        (
            {"type": "structured", "schema": {"enum": [{"a": None}]}},
            "/schema/enum/0/a",
        ),
        (
            {"type": "tools", "expected": [{"name": "f", "arguments": {"a": None}}]},
            "/expected/0/arguments/a",
        ),
        (
            {
                "type": "tools",
                "expected": [{"name": "f", "arguments": {"a": None}}],
                "tools": [
                    {"name": "f", "parameters": {"properties": {"a": {"type": ["string", "null"]}}}}
                ],
            },
            "/expected/0/arguments/a",
        ),
        (
            {"type": "tools", "state": {"initial": {"a": None}, "effects": {}}},
            "/state/initial/a",
        ),
        (
            {
                "type": "code",
                "language": "python",
                "tests": [{"call": "f", "returns": {"a": None}}],
            },
            "/tests/0/returns/a",
        ),
        ({"type": "of a newer server", "x": {"a": None}}, "/x/a"),
    ],
)
def test_a_null_that_may_be_a_value_is_an_error(task: dict[str, Any], where: str) -> None:
    with pytest.raises(ValueError, match=f"null at `{where}`.*{TEXT}"):
        task_of("the task", task)


@pytest.mark.parametrize(
    ("arguments", "properties", "read"),
    [
        # The argument of another row's tool.
        ({"a": 1, "b": None}, {"a": {"type": "integer"}}, {"a": 1}),
        # An argument that cannot be null.
        ({"a": 1, "b": None}, {"a": {}, "b": {"type": "string"}}, {"a": 1}),
        ({"a": 1, "b": None}, {"a": {}, "b": {"enum": ["x"]}}, {"a": 1}),
        (
            {"a": {"c": 1, "d": None}},
            {"a": {"properties": {"d": {"type": "string"}}}},
            {"a": {"c": 1}},
        ),
    ],
)
def test_definitions_of_tools_decide_about_arguments(
    arguments: Any, properties: Any, read: Any
) -> None:
    for tool in (
        {"name": "f", "input_schema": {"properties": properties}},
        {"type": "function", "function": {"name": "f", "parameters": {"properties": properties}}},
    ):
        task = {
            "type": "tools",
            "tools": [tool],
            "expected": [{"name": "f", "arguments": arguments}],
        }
        assert task_of("the task", task)["expected"][0]["arguments"] == read


def test_a_required_value_is_null_if_its_schema_says_so() -> None:
    schema = {"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}
    task = {"type": "structured", "schema": schema, "expected": {"a": None}}
    assert task_of("the task", task) == task


def test_expected_calls_of_bfcl_lose_their_nulls() -> None:
    task = {"type": "tools", "mode": "bfcl", "expected": [{"f": {"a": [1], "b": None}, "g": None}]}
    assert task_of("the task", task)["expected"] == [{"f": {"a": [1]}}]


def test_nested_tasks_and_templates_are_read() -> None:
    final = {"type": "math", "answer": "1", "tolerance": {"absolute": 1.0, "relative": None}}
    task = {"type": "tools", "expected": [], "final": final}
    assert task_of("the task", task)["final"]["tolerance"] == {"absolute": 1.0}
    made = {"template": "gsm8k", "row": {"answer": "#### 1", "other": None}, "type": None}
    assert task_of("the task", made) == {"template": "gsm8k", "row": made["row"]}


def test_a_row_without_an_object_has_none_of_its_keys() -> None:
    # Some tables store an object of nulls for an absent object.
    task = {"type": "math", "answer": "1", "tolerance": {"absolute": None, "relative": None}}
    assert task_of("the task", task) == {"type": "math", "answer": "1"}
