"""Reads tasks and completions from the rows of tables.

A column of Arrow, and so of `datasets`, Parquet or Spark, has one set of keys for the objects of
all rows, with null where a row lacks a key. Such a null is removed where the grader's tasks have
none. Where null can also be a value of the task, as in an expected document, it cannot be told
apart, and the task is rejected. JSON text has no such nulls: there, null is a value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from assay._task_shapes import SHAPES

# Keywords of JSON Schema whose value is any JSON value.
VALUES = frozenset({"const", "enum", "default", "examples"})
# Those of them that can be null themselves.
NULLABLE = frozenset({"const", "default"})
# Keywords whose value contains schemas by name.
NAMED_SCHEMAS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
# Keys of the arguments of a call in a message.
ARGUMENTS = frozenset({"arguments", "parameters", "input"})


def task_of(what: str, value: Any) -> dict[str, Any]:
    """The task in a value of a row: an object, or JSON text. `what` names the value in errors."""
    is_text = isinstance(value, str)
    if is_text:
        try:
            value = from_json(value)
        except ValueError as error:
            raise ValueError(f"{what} is not JSON: {error}: {value[:200]}") from None
    value = _plain(value)
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} is a {type(value).__name__}; a task is an object or JSON")
    try:
        return _Reader(is_text).task(value, "")
    except _UndecidedError as error:
        raise ValueError(
            f"{what} has null at `{error}`: either the value of the task there, or a key that only "
            "other rows have, for which tables store null; make the task JSON text, as in "
            "`json.dumps(task)` before the rows become a table"
        ) from None


def completion_of(what: str, value: Any, task: Mapping[str, Any]) -> Any:
    """The completion in a value of a row: a text, or messages. `what` names it in errors."""
    value = _plain(value)
    if not isinstance(value, list):
        return value
    try:
        return _Reader.of_calls(task).messages(value)
    except _UndecidedError as error:
        raise ValueError(
            f"{what} has null at `{error}`: either the value of an argument, or an argument that "
            "only other rows have, for which tables store null; make the arguments JSON text, as "
            "in `json.dumps(arguments)` before the rows become a table"
        ) from None


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


# In place of a value that an object does not have.
_ABSENT: Any = object()


class _UndecidedError(ValueError):
    """A null may be a value, or stand for an absent key. The message is its JSON pointer."""


def _walk(
    value: Any,
    where: str,
    element: Callable[[Any, str], Any],
    member: Callable[[Mapping[str, Any], str, Any, str], Any],
) -> Any:
    """A list of its elements as `element` reads them, an object of its values as `member` does,
    which returns `_ABSENT` for those to leave out, or another value as it is. `where` is the JSON
    pointer of the value, and the last argument of both functions that of the part.
    """
    value = _plain(value)
    if isinstance(value, list):
        return [element(part, f"{where}/{at}") for at, part in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    parts = ((name, member(value, name, part, f"{where}/{name}")) for name, part in value.items())
    return {name: part for name, part in parts if part is not _ABSENT}


class _Reader:
    """Reads one task. `SHAPES` says which parts of a task are objects with known keys."""

    def __init__(self, keeps_values: bool) -> None:
        # Whether null is a value where it can be one.
        self._keeps_values = keeps_values
        # Schemas of the arguments of the tools of the task, by name.
        self._parameters: dict[str, Mapping[str, Any]] = {}
        # The schema of the expected document.
        self._schema: Mapping[str, Any] | None = None

    @classmethod
    def of_calls(cls, task: Mapping[str, Any]) -> _Reader:
        """Reads calls of the tools of a task."""
        reader = cls(False)
        reader._parameters = dict(_parameters(task.get("tools")))
        return reader

    def messages(self, value: Any, where: str = "") -> Any:
        """Messages, or a part of one. Only arguments of calls can have nulls as values."""

        def member(message: Mapping[str, Any], name: str, part: Any, here: str) -> Any:
            if part is None:
                return _ABSENT
            if name in ARGUMENTS and "name" in message:
                return self._arguments(str(message["name"]), part, here)
            return self.messages(part, here)

        return _walk(value, where, self.messages, member)

    def _arguments(self, tool: str, value: Any, where: str) -> Any:
        schema = self._parameters.get(tool)
        return self._value(value, where, schema, is_closed=schema is not None)

    def task(self, value: Mapping[str, Any], where: str) -> dict[str, Any]:
        if value.get("template") is not None:
            # For a template, a null in the row is an absent column.
            return _present(value)
        shape = SHAPES.get(str(value.get("type")))
        if shape is None:
            return {
                name: self._value(part, f"{where}/{name}") for name, part in _present(value).items()
            }
        read = dict(value)
        # The schemas decide which nulls of the other parts are values.
        if read.get("tools") is not None:
            read["tools"] = self._read("schema", read["tools"], f"{where}/tools")
            self._parameters = dict(_parameters(read["tools"]))
        if read.get("schema") is not None:
            read["schema"] = self._read("schema", read["schema"], f"{where}/schema")
            self._schema = read["schema"] if isinstance(read["schema"], Mapping) else None
        found: dict[str, Any] = self._object(shape, read, where)
        return found

    def _read(self, shape: Any, value: Any, where: str) -> Any:
        """A part of a task that is not null."""
        value = _plain(value)
        if shape == "value":
            return value
        if shape == "any":
            return self._value(value, where)
        if shape == "expected":
            return self._value(value, where, self._schema)
        if shape == "schema":
            return value if self._keeps_values else self._schema_without_nulls(value, where)
        if shape == "task":
            is_task = isinstance(value, Mapping)
            return _Reader(self._keeps_values).task(value, where) if is_task else value
        if "choices" in shape:
            chosen = _choice(shape["choices"], value)
            return value if chosen is None else self._read(chosen, value, where)
        if "list" in shape:
            if not isinstance(value, list):
                return value
            return [
                None if part is None else self._read(shape["list"], part, f"{where}/{at}")
                for at, part in enumerate(value)
            ]
        return self._object(shape, value, where) if isinstance(value, Mapping) else value

    def _object(self, shape: Mapping[str, Any], value: Mapping[str, Any], where: str) -> Any:
        """An object with known keys."""
        fields, others, required = shape["fields"], shape.get("others"), shape.get("required", ())

        def member(owner: Mapping[str, Any], name: str, part: Any, here: str) -> Any:
            known = fields.get(name, others)
            if part is None:
                if known == "any" and name not in fields and not self._keeps_values:
                    raise _UndecidedError(here)
                # A required value is present in every row, so null is its value.
                is_value = known == "any" and (self._keeps_values or name in required)
                return None if is_value else _ABSENT
            if _is_empty_structure(known, part) and name not in required:
                return _ABSENT
            if known == "arguments":
                return self._arguments(str(owner.get("name")), part, here)
            return self._read("value" if known is None else known, part, here)

        return _walk(value, where, self._value, member)

    def _value(self, value: Any, where: str, schema: Any = None, is_closed: bool = False) -> Any:
        """Any JSON value, of which a schema may be known.

        `is_closed`: whether the value has only keys that the schema names.
        """
        if self._keeps_values:
            return _plain(value)
        schema = schema if isinstance(schema, Mapping) else {}
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        is_closed = is_closed or schema.get("additionalProperties") is False

        def element(part: Any, here: str) -> Any:
            return self._value(part, here, schema.get("items"))

        def member(_: Mapping[str, Any], name: str, part: Any, here: str) -> Any:
            known = properties.get(name)
            if part is not None:
                return self._value(part, here, known)
            if _excludes_null(known) or (is_closed and name not in properties):
                return _ABSENT
            if name in (schema.get("required") or ()):
                return None
            raise _UndecidedError(here)

        return _walk(value, where, element, member)

    def _schema_without_nulls(self, value: Any, where: str) -> Any:
        """A JSON Schema, or an object that contains one, such as the definition of a tool."""

        def named(_: Mapping[str, Any], __: str, part: Any, here: str) -> Any:
            return _ABSENT if part is None else self._schema_without_nulls(part, here)

        def member(schema: Mapping[str, Any], name: str, part: Any, here: str) -> Any:
            if part is None:
                if name in NULLABLE and not _excludes_null(schema):
                    raise _UndecidedError(here)
                return _ABSENT
            if name in VALUES:
                return self._value(part, here)
            if name in NAMED_SCHEMAS:
                return _walk(part, here, self._schema_without_nulls, named)
            return self._schema_without_nulls(part, here)

        return _walk(value, where, self._schema_without_nulls, member)


def _is_empty_structure(shape: Any, value: Any) -> bool:
    """Whether an object is one that its row lacks: some tables store an object of nulls for it."""
    return (
        isinstance(shape, dict)
        and isinstance(value, Mapping)
        and bool(value)
        and all(part is None for part in value.values())
    )


def _choice(choices: Iterable[Any], value: Any) -> Any:
    """The shape that a value has, by the keys that are not null."""
    if isinstance(value, list):
        return next((one for one in choices if isinstance(one, dict) and "list" in one), None)
    if not isinstance(value, Mapping):
        return None
    names = _present(value).keys()
    for one in choices:
        if not isinstance(one, dict) or "fields" not in one:
            continue
        fields = one["fields"]
        is_complete = all(
            name in names or (name in value and fields[name] == "any")
            for name in one.get("required", ())
        )
        if is_complete and names <= fields.keys():
            return one
    # No shape matches; the server reports the error.
    return {"fields": {}, "others": "value"}


def _parameters(tools: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The names of tools, and the schemas of their arguments."""
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, Mapping):
            continue
        # The definitions of a list can have several forms, and a table gives each the keys of all.
        definition = _first(tool.get("function"), tool)
        if not isinstance(definition, Mapping):
            continue
        schema = _first(definition.get("parameters"), definition.get("input_schema"))
        if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping):
            yield str(definition.get("name")), schema


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _excludes_null(schema: Any) -> bool:
    """Whether no null satisfies a schema, as far as its types and values say."""
    if not isinstance(schema, Mapping):
        return schema is False
    types, values = schema.get("type"), schema.get("enum")
    if isinstance(values, list) and None not in values:
        return True
    if isinstance(types, str):
        return types != "null"
    return isinstance(types, list) and bool(types) and "null" not in types


def _present(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object without its keys of null."""
    return {name: part for name, part in value.items() if part is not None}


def _plain(value: Any) -> Any:
    """Arrays of numpy and structures of Spark as lists and objects."""
    if hasattr(value, "asDict"):
        return value.asDict(recursive=True)
    if isinstance(value, tuple):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else value
