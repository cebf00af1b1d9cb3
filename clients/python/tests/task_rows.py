"""Tasks of each grader with different shapes, which a table gives one set of keys."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class TaskRow(NamedTuple):
    """A task, with a completion that is right and one that is wrong."""

    task: dict[str, Any]
    right: str
    wrong: str


def _call(name: str, arguments: dict[str, Any]) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def _python(program: str) -> str:
    return f"```python\n{program}\n```"


def _tool(name: str, properties: dict[str, Any], **options: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, **options}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


_CITY = _tool("weather", {"city": {"type": "string"}}, required=["city"])
_SUM = _tool("add", {"a": {"type": "integer"}, "b": {"type": "integer", "enum": [1, 2]}})
_DAY = _tool("day", {"of": {"type": ["string", "null"], "const": "May"}})

# Arrow has one type for each key, so values of one key have one type here.
ROWS: dict[str, list[TaskRow]] = {
    "math": [
        TaskRow({"type": "math", "answer": "4"}, "\\boxed{4}", "\\boxed{5}"),
        TaskRow(
            {"type": "math", "answer": "2.5", "tolerance": {"absolute": 0.1}},
            "\\boxed{2.55}",
            "\\boxed{2.7}",
        ),
        TaskRow(
            {"type": "math", "answer": "B", "choices": {"A": "one half", "B": "one third"}},
            "\\boxed{B}",
            "\\boxed{A}",
        ),
        TaskRow(
            {"type": "math", "answer": "C", "choices": {"C": "red", "D": "blue"}},
            "\\boxed{C}",
            "\\boxed{D}",
        ),
    ],
    "text": [
        TaskRow({"type": "text", "answer": ["red", "blue"]}, "blue", "green"),
        TaskRow(
            {"type": "text", "answer": ["so"], "match": "contains", "words": {"max": 3}},
            "so it is",
            "so it is not red",
        ),
        TaskRow(
            {"type": "text", "answer": ["it"], "match": "contains", "reject": ["no"]},
            "it is",
            "it is no",
        ),
    ],
    "code": [
        TaskRow(
            {
                "type": "code", "language": "python", "limits": {"seconds": 2},
                "tests": [{"stdin": "2", "stdout": "4"}],
            },
            _python("print(int(input()) * 2)"),
            _python("print(3)"),
        ),
        TaskRow(
            {
                "type": "code", "language": "python", "files": {"a.txt": "7"},
                "tests": [{"call": "f", "args": ["a.txt"], "returns": "7"}],
            },
            _python("def f(name):\n    return open(name).read()"),
            _python("def f(name):\n    return name"),
        ),
        TaskRow(
            # The function must return `None`.
            {
                "type": "code", "language": "python", "files": {"b.txt": "8"},
                "tests": [{"call": "g", "args": [], "returns": None}],
            },
            _python("def g():\n    pass"),
            _python("def g():\n    return 0"),
        ),
        TaskRow(
            {
                "type": "code", "language": "python",
                "tests": [{"assert": "assert h(2) == 4"}], "score": {"groups": [[0]]},
            },
            _python("def h(n):\n    return n * n"),
            _python("def h(n):\n    return n + 1"),
        ),
    ],
    "sql": [
        TaskRow(
            {
                "type": "sql", "dialect": "sqlite", "gold": "SELECT name FROM pet",
                "database": {
                    "schema": "CREATE TABLE pet (name TEXT)",
                    "rows": "INSERT INTO pet VALUES ('Ada'), (NULL)",
                },
            },
            "```sql\nSELECT name FROM pet\n```",
            "```sql\nSELECT name FROM pet WHERE name IS NOT NULL\n```",
        ),
        TaskRow(
            {
                "type": "sql", "dialect": "sqlite", "gold": "SELECT count(*) FROM pet",
                "database": {
                    "schema": "CREATE TABLE pet (age INTEGER)",
                    "variants": [{"rows": "INSERT INTO pet VALUES (1)"}],
                },
                "limits": {"rows": 10},
            },
            "```sql\nSELECT count(*) FROM pet\n```",
            "```sql\nSELECT 0\n```",
        ),
    ],
    "structured": [
        TaskRow(
            {
                "type": "structured",
                "schema": {
                    "type": "object", "additionalProperties": False, "required": ["name"],
                    "properties": {"name": {"type": "string", "const": "Ada"}},
                },
                "expected": {"name": "Ada"},
            },
            '{"name": "Ada"}',
            '{"name": "Bob"}',
        ),
        TaskRow(
            {
                "type": "structured",
                "schema": {
                    "type": "object", "additionalProperties": False, "required": ["age"],
                    "properties": {"age": {"type": "integer", "minimum": 3}},
                },
                "expected": {"age": 4},
            },
            '{"age": 4}',
            '{"age": 2}',
        ),
    ],
    "tools": [
        TaskRow(
            {
                "type": "tools", "tools": [_CITY, _SUM],
                "expected": [{"name": "weather", "arguments": {"city": "Rome"}}],
            },
            _call("weather", {"city": "Rome"}),
            _call("weather", {"city": "Paris"}),
        ),
        TaskRow(
            {
                "type": "tools", "tools": [_SUM, _DAY], "match": "exact",
                "expected": [{"name": "add", "arguments": {"a": 1}, "any_of": {"b": [1, 2]}}],
            },
            _call("add", {"a": 1, "b": 2}),
            _call("add", {"a": 1, "b": 3}),
        ),
    ],
}  # fmt: skip


def all_rows() -> list[TaskRow]:
    return [row for rows in ROWS.values() for row in rows]
