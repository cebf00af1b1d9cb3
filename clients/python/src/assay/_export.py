"""Tables of recorded grades."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from assay.models import Grade

Format = Literal["pandas", "pyarrow", "polars"]

# Columns that come first; the others follow in alphabetical order.
FIRST = (
    "grade", "run", "step", "id", "group", "channel", "grader",
    "outcome", "verdict", "pass", "score", "reward", "advantage",
)  # fmt: skip
TIME = "time_us"


def columns() -> dict[str, str]:
    """Names and kinds of the columns: `str`, `int`, `float`, `bool`, `time` or `json`."""
    kinds: dict[str, str] = {}
    for name, member in inspect.getmembers(Grade, lambda member: isinstance(member, property)):
        field = name.rstrip("_")
        kind = str(member.fget.__annotations__["return"]).replace(" | None", "")
        kinds[field] = kind if kind in ("str", "int", "float", "bool") else "json"
    kinds[TIME] = "time"
    rest = sorted(kinds.keys() - set(FIRST))
    return {name: kinds[name] for name in (*FIRST, *rest)}


def to_table(format: Format, grades: Iterable[Mapping[str, Any]]) -> Any:
    """A table of grades."""
    tables = {"pandas": _pandas, "pyarrow": _pyarrow, "polars": _polars}
    if format not in tables:
        raise ValueError(f"unknown format `{format}`; the formats are {', '.join(tables)}")
    kinds = columns()
    values: dict[str, list[Any]] = {name: [] for name in kinds}
    for grade in grades:
        for name, kind in kinds.items():
            value = grade.get(name)
            if kind == "json" and value is not None:
                value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            values[name].append(value)
    return tables[format](kinds, values)


def _imported(name: str) -> Any:
    """A module that is not a dependency of this package."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(f"`export` needs {name}; install it with `pip install {name}`") from error


def _pandas(kinds: dict[str, str], values: dict[str, list[Any]]) -> Any:
    pandas = _imported("pandas")

    types = {"str": "string", "json": "string", "int": "Int64", "float": "float64"}
    table = {}
    for name, kind in kinds.items():
        if kind == "time":
            table[name] = pandas.to_datetime(pandas.Series(values[name], dtype="int64"), unit="us")
            table[name] = table[name].dt.tz_localize("UTC")
        else:
            table[name] = pandas.Series(values[name], dtype=types.get(kind, "boolean"))
    return pandas.DataFrame(table)


def _pyarrow(kinds: dict[str, str], values: dict[str, list[Any]]) -> Any:
    pyarrow = _imported("pyarrow")

    types = {
        "str": pyarrow.string(),
        "json": pyarrow.string(),
        "int": pyarrow.int64(),
        "float": pyarrow.float64(),
        "bool": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", "UTC"),
    }
    return pyarrow.table(
        {name: pyarrow.array(values[name], types[kind]) for name, kind in kinds.items()}
    )


def _polars(kinds: dict[str, str], values: dict[str, list[Any]]) -> Any:
    polars = _imported("polars")

    types = {
        "str": polars.String,
        "json": polars.String,
        "int": polars.Int64,
        "float": polars.Float64,
        "bool": polars.Boolean,
        "time": polars.Int64,
    }
    frame = polars.DataFrame(values, schema={name: types[kind] for name, kind in kinds.items()})
    return frame.with_columns(
        polars.from_epoch(polars.col(TIME), time_unit="us").dt.replace_time_zone("UTC")
    )
