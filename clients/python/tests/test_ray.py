"""Ray: two workers, of which one is killed after its batch was graded."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Node, expected_rewards, is_alive, math_items, recorded_ids, wait_until

import assay

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]

COUNT = 512


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    source = str(Path(assay.__file__).parents[1])
    ray.init(
        # Two workers, and processors for the tasks that feed them.
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": source}},
    )
    yield
    ray.shutdown()


def test_a_killed_worker_grades_nothing_twice(node: Node, run: str, tmp_path: Path) -> None:
    import assay.ray

    marker = str(tmp_path / "killed")

    class DiesOnce(assay.ray.BatchGrader):
        def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
            results = super().__call__(batch)
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return results
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError("unreachable")

    rows = ray.data.from_items(math_items(COUNT), override_num_blocks=8)
    graded = rows.map_batches(
        DiesOnce,
        fn_constructor_args=(node.url,),
        fn_constructor_kwargs={
            "job": f"job-{run}", "run": run, "id": "id", "fields": ("reward", "verdict", "pass"),
        },
        concurrency=2,
        batch_size=64,
    )  # fmt: skip
    found = {row["id"]: row for row in graded.take_all()}
    assert Path(marker).exists(), "a worker was killed"
    items = math_items(COUNT)
    assert [found[item["id"]]["reward"] for item in items] == expected_rewards(COUNT)
    assert [found[item["id"]]["pass"] for item in items] == [
        reward == 1.0 for reward in expected_rewards(COUNT)
    ]
    assert recorded_ids([node], run) == sorted(item["id"] for item in items)


def test_grades_a_dataset_with_private_nodes() -> None:
    import assay.ray

    items = [
        *math_items(64),
        {"id": "bad", "completion": "1", "task": {"type": "math", "answer": ""}},
    ]
    rows = ray.data.from_items(items, override_num_blocks=4)
    graded = assay.ray.grade_dataset(rows, concurrency=1, batch_size=16, prefix="assay_")
    found = {row["id"]: row["assay_reward"] for row in graded.take_all()}
    assert math.isnan(found.pop("bad")), "an item without a reward is NaN, never 0"
    assert [found[item["id"]] for item in math_items(64)] == expected_rewards(64)


def test_a_node_ends_with_its_actor() -> None:
    import assay.ray

    actor = assay.ray.GraderActor.remote()
    results = ray.get(actor.grade.remote(math_items(16), fields=["reward"]))
    assert results.rewards() == expected_rewards(16)
    # The node is found by its port.
    port = int(ray.get(actor.url.remote()).rsplit(":", 1)[1])
    pid = listener(port)
    assert is_alive(pid)
    ray.kill(actor)
    wait_until(lambda: not is_alive(pid))


def test_one_shot_grading_in_a_task() -> None:
    @ray.remote
    def grade(items: list[dict[str, Any]]) -> list[float]:
        import assay

        return assay.grade(items).rewards()

    assert ray.get(grade.remote(math_items(16))) == expected_rewards(16)


def listener(port: int) -> int:
    """The process that listens on a port."""
    inodes = {
        fields[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        for fields in [line.split()]
        if int(fields[1].split(":")[1], 16) == port and fields[3] == "0A"
    }
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            for descriptor in (process / "fd").iterdir():
                link = os.readlink(descriptor)
                if link.startswith("socket:[") and link[8:-1] in inodes:
                    return int(process.name)
        except OSError:
            continue
    raise AssertionError(f"nothing listens on {port}")
