"""Grading with Ray: an actor, and a class for `map_batches` of Ray Data.

Ray runs a task again if its worker died. The requests have keys that depend on their items, so a
server grades a batch once however often Ray sends it. A private node of a worker ends with the
worker, and has no record unless `server_options` name a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

try:
    import numpy
    import ray
    import ray.data
except ImportError as error:
    raise ImportError(
        f"`assay.ray` needs Ray Data ({error}); install it with `pip install 'ray[data]' numpy`"
    ) from error

from assay._columns import Columns, Rows, connect, new_job


def grade_dataset(
    dataset: ray.data.Dataset,
    urls: str | Iterable[str] | None = None,
    *,
    concurrency: int | tuple[int, int] = 2,
    batch_size: int = 1024,
    ray_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """A dataset with further columns that contain the results of its rows.

    `concurrency` is the number of workers, or its minimum and maximum. Each uses one CPU of the
    cluster unless `ray_options` say otherwise, and the tasks that read the dataset need CPUs too.
    `ray_options` are further arguments of `map_batches`, and `options` those of `BatchGrader`.
    """
    known = urls if urls is None or isinstance(urls, str) else list(urls)
    return dataset.map_batches(
        BatchGrader,
        fn_constructor_args=(known,),
        fn_constructor_kwargs={"job": new_job(), **options},
        concurrency=concurrency,
        batch_size=batch_size,
        **dict(ray_options or {}),
    )


class BatchGrader:
    """Grades the batches of a dataset, for `map_batches`; `grade_dataset` uses it.

    - `urls`: servers; by default each worker starts a private node.
    - `fields`: keys of results that become columns: `reward`, `verdict`, `pass` and other numbers
      and texts; objects become JSON text. A row without a reward has NaN, never 0.
    - `prefix`: start of the names of the new columns.
    - `completion`, `task`, `group`, `id`: columns with these parts of an item. A task is an object
      or JSON text. A group must not span several batches.
    - `run`, `step`, `policy`: as in `Client.grade`.
    - `job`: a name that all workers share, and that is part of the keys of their requests. A server
      grades equal batches of a job once; without a job it grades each request.
    - `client_options`, `server_options`: arguments of `Client` and `serve`.
    """

    def __init__(
        self,
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
    ) -> None:
        self._server, self._client = connect(urls, client_options, server_options)
        self._rows = Rows(
            Columns(completion, task, group, id), tuple(fields), prefix, run, step, policy, job
        )

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        results = self._rows.results(self._client, batch)
        return {**batch, **{name: _array(values) for name, values in results.items()}}


def _array(values: list[Any]) -> Any:
    kind = "float64" if all(isinstance(value, (int, float)) for value in values) else "object"
    return numpy.array(values, dtype="bool" if _all_flags(values) else kind)


def _all_flags(values: list[Any]) -> bool:
    return all(isinstance(value, bool) for value in values)


@ray.remote
class GraderActor:
    """An actor that grades: `GraderActor.remote()` starts one with a private node, and
    `GraderActor.remote(urls)` uses servers.

    `await actor.grade.remote(items, …)` takes the arguments of `Client.grade`. Several calls run at
    the same time with `GraderActor.options(max_concurrency=8).remote()`.
    """

    def __init__(
        self,
        urls: str | Iterable[str] | None = None,
        *,
        client_options: Mapping[str, Any] | None = None,
        server_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._server, self._client = connect(urls, client_options, server_options)

    def url(self) -> str:
        """URL of the server, or of the first of several."""
        return self._client.urls[0]

    def grade(self, items: Iterable[Mapping[str, Any]], **options: Any) -> Any:
        """Grades a batch and returns its `Results`."""
        return self._client.grade(items, **options)
