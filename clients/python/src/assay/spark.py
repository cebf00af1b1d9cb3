"""Grading with Spark: columns of results for a data frame, and a function for rewards.

Spark runs a task again if its worker died. The requests have keys that depend on their items, so a
server grades a batch once however often Spark sends it. Without URLs each Python worker starts a
private node, which ends with the worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

try:
    import pandas
    import pyarrow  # noqa: F401 (Spark imports it when a function of a data frame runs)
    from pyspark.sql import DataFrame, functions
    from pyspark.sql.types import (
        BooleanType,
        DataType,
        DoubleType,
        LongType,
        StringType,
        StructField,
        StructType,
    )
except ImportError as error:
    raise ImportError(
        f"`assay.spark` needs Spark ({error}); install it with `pip install pyspark pandas pyarrow`"
    ) from error

from assay._columns import COUNTS, FLAGS, NUMBERS, Columns, Rows, connect, new_job
from assay.client import Client


def grade_frame(
    frame: DataFrame,
    urls: str | Iterable[str] | None = None,
    *,
    fields: Iterable[str] = ("reward", "verdict"),
    prefix: str = "",
    completion: str = "completion",
    task: str = "task",
    group: str | None = None,
    id: str | None = None,
    run: str | None = None,
    step: int | None = None,
    policy: str | Mapping[str, Any] | None = None,
    job: str | None = None,
    client_options: Mapping[str, Any] | None = None,
    server_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """A data frame with further columns that contain the results of its rows, by `mapInPandas`.

    - `urls`: servers; by default each Python worker starts a private node.
    - `fields`: keys of results that become columns: `reward`, `verdict`, `pass` and other numbers
      and texts; objects become JSON text. A row without a reward has null, never 0.
    - `prefix`: start of the names of the new columns.
    - `completion`, `task`, `group`, `id`: columns with these parts of an item. A task is a
      structure or JSON text. A group must not span several batches, whose size is
      `spark.sql.execution.arrow.maxRecordsPerBatch`.
    - `run`, `step`, `policy`: as in `Client.grade`.
    - `job`: part of the keys of requests; by default each data frame is its own job.
    - `client_options`, `server_options`: arguments of `Client` and `serve`.
    """
    rows = Rows(
        Columns(completion, task, group, id),
        tuple(fields),
        prefix,
        run,
        step,
        policy,
        job or new_job(),
    )
    connected = _connected(urls, client_options, server_options)

    def grade(batches: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        client = connected()
        for batch in batches:
            columns = {name: batch[name].tolist() for name in batch.columns}
            results = rows.results(client, columns)
            yield batch.assign(
                **{
                    name: pandas.Series(values, index=batch.index)
                    for name, values in results.items()
                }
            )

    added = [StructField(prefix + field, _type(field)) for field in rows.fields]
    return frame.mapInPandas(grade, StructType([*frame.schema.fields, *added]))


def reward_udf(
    urls: str | Iterable[str] | None = None,
    *,
    run: str | None = None,
    step: int | None = None,
    policy: str | Mapping[str, Any] | None = None,
    job: str | None = None,
    client_options: Mapping[str, Any] | None = None,
    server_options: Mapping[str, Any] | None = None,
) -> Any:
    """A `pandas_udf` of a completion and a task as JSON text: the reward, null without one."""
    rows = Rows(
        Columns("completion", "task", None, None),
        ("reward",),
        "",
        run,
        step,
        policy,
        job or new_job(),
    )
    connected = _connected(urls, client_options, server_options)

    def reward(completion: pandas.Series, task: pandas.Series) -> pandas.Series:
        batch = {"completion": completion.tolist(), "task": task.tolist()}
        rewards: pandas.Series = pandas.Series(
            rows.results(connected(), batch)["reward"], dtype="float64"
        )
        return rewards

    # The types of PySpark know the decorator only.
    udf: Any = functions
    return udf.pandas_udf(reward, DoubleType())


def _type(field: str) -> DataType:
    if field in NUMBERS:
        return DoubleType()
    if field in FLAGS:
        return BooleanType()
    return LongType() if field in COUNTS else StringType()


# The client and node of each worker process, by their arguments.
_CONNECTED: dict[tuple[int, str], tuple[Any, Client]] = {}


def _connected(
    urls: str | Iterable[str] | None,
    client_options: Mapping[str, Any] | None,
    server_options: Mapping[str, Any] | None,
) -> Callable[[], Client]:
    """A function that returns the client of the process in which it is called."""
    known = urls if urls is None or isinstance(urls, str) else list(urls)
    name = repr((known, client_options, server_options))

    def connected() -> Client:
        key = (os.getpid(), name)
        if key not in _CONNECTED:
            _CONNECTED[key] = connect(known, client_options, server_options)
        return _CONNECTED[key][1]

    return connected
