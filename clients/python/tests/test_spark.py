"""Spark: two workers, of which one is killed after its batch was graded."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Node, expected_rewards, math_items, recorded_ids

import assay

pyspark = pytest.importorskip("pyspark")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]

COUNT = 512


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    source = str(Path(assay.__file__).parents[1])
    os.environ["PYTHONPATH"] = source
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Two threads; a task may fail four times.
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "64")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame(spark: Any, items: list[dict[str, Any]]) -> Any:
    rows = [(item["id"], item["completion"], json.dumps(item["task"])) for item in items]
    return spark.createDataFrame(rows, "id string, completion string, task string").repartition(8)


def test_a_killed_worker_grades_nothing_twice(
    spark: Any, node: Node, run: str, tmp_path: Path
) -> None:
    import assay.spark

    marker = str(tmp_path / "killed")

    def dies_once(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield batch
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    items = math_items(COUNT)
    graded = assay.spark.grade_frame(frame(spark, items), node.url, run=run, id="id")
    rows = graded.mapInPandas(dies_once, graded.schema).collect()
    assert Path(marker).exists(), "a worker was killed"
    found = {row["id"]: row["reward"] for row in rows}
    assert [found[item["id"]] for item in items] == expected_rewards(COUNT)
    assert recorded_ids([node], run) == sorted(item["id"] for item in items)


def test_a_function_returns_rewards(spark: Any, node: Node) -> None:
    import assay.spark

    items = [
        *math_items(64),
        {"id": "bad", "completion": "1", "task": {"type": "math", "answer": ""}},
    ]
    reward = assay.spark.reward_udf(node.url)
    rows = frame(spark, items).select("id", reward("completion", "task").alias("reward")).collect()
    found = {row["id"]: row["reward"] for row in rows}
    assert found.pop("bad") is None, "an item without a reward is null, never 0"
    assert [found[item["id"]] for item in math_items(64)] == expected_rewards(64)


def test_grades_with_private_nodes(spark: Any) -> None:
    import assay.spark

    items = math_items(64)
    rows = assay.spark.grade_frame(frame(spark, items)).collect()
    found = {row["id"]: (row["reward"], row["verdict"]) for row in rows}
    assert [found[item["id"]][0] for item in items] == expected_rewards(64)
    assert {verdict for _, verdict in found.values()} == {"correct", "wrong_answer"}
