"""How batches are encoded and divided."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy
import pytest
from support import math_item, math_items

from assay import SplitBatchError
from assay._items import Batch, Options


def batch(items: Any, **options: Any) -> Batch:
    return Batch.encode(items, Options(**options))


def bodies(made: Batch, max_items: int = 1000, max_bytes: int = 1 << 20) -> list[Any]:
    return [json.loads(chunk.body()) for chunk in made.chunks(max_items, max_bytes)]


def test_one_request_contains_the_items_as_given() -> None:
    items = math_items(3)
    assert bodies(batch(items, run="r", step=0, policy={"a": 1}, statistics=("p_hat",))) == [
        {"run": "r", "step": 0, "policy": {"a": 1}, "statistics": ["p_hat"], "items": items}
    ]
    assert bodies(batch(items)) == [{"items": items}]


@pytest.mark.parametrize("max_items", range(1, 20))
def test_requests_never_split_a_group(max_items: int) -> None:
    # Groups of different sizes, with their members mixed.
    items = [math_item(f"i{number}", 1, 1, f"g{number * number % 7}") for number in range(40)]
    chunks = batch(items).chunks(max_items, 1 << 20)
    seen = [position for chunk in chunks for position in chunk.positions()]
    assert sorted(seen) == list(range(40))
    for chunk in chunks:
        positions = chunk.positions()
        assert positions == sorted(positions)
        groups = {items[position]["group"] for position in positions}
        for position, item in enumerate(items):
            assert (item["group"] in groups) == (position in positions)
        assert len(positions) <= max_items or len(groups) == 1


def test_requests_respect_the_limit_of_bytes() -> None:
    items = [{**math_item(f"i{number}", 1, 1), "prompt": "x" * 1000} for number in range(20)]
    chunks = batch(items).chunks(1000, 5000)
    assert len(chunks) == 5
    assert all(len(chunk.body()) < 5100 for chunk in chunks)


def test_statistics_of_the_whole_batch_are_not_divided() -> None:
    made = batch(math_items(16), statistics=("gpg", "p_hat"))
    assert len(made.chunks(16, 1 << 20)) == 1
    with pytest.raises(SplitBatchError, match="`gpg` depend on the whole batch"):
        made.chunks(8, 1 << 20)


def test_ids_are_unique_over_several_requests() -> None:
    with pytest.raises(ValueError, match="the id `a` occurs twice"):
        batch([math_item("a", 1, 1), math_item("a", 1, 1)]).chunks(1, 1 << 20)


def test_values_of_numpy_are_numbers_and_lists() -> None:
    item = {
        "completion": numpy.str_("x"),
        "task": {"type": "math", "answer": numpy.array(["1", "2"])},
        "meta": {"tokens": numpy.int64(7), "mean": numpy.float32(0.5)},
    }
    assert bodies(batch([item])) == [
        {
            "items": [
                {
                    "completion": "x",
                    "task": {"type": "math", "answer": ["1", "2"]},
                    "meta": {"tokens": 7, "mean": 0.5},
                }
            ]
        }
    ]


def test_sends_a_lone_surrogate_unchanged() -> None:
    (body,) = batch([{"completion": "\ud83d", "task": {}}]).chunks(9, 999)
    assert b"\\ud83d" in body.body()


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        ({"completion": object()}, TypeError, r"items\[1\]: `object` is not a JSON value"),
        ({"completion": math.nan}, ValueError, r"items\[1\]: Out of range float"),
        ("text", TypeError, r"items\[1\] is `str`, not a mapping"),
    ],
)
def test_errors_name_the_item(item: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        batch([math_item("a", 1, 1), item])


def test_a_batch_needs_items() -> None:
    with pytest.raises(ValueError, match="there are no items"):
        batch([])


@pytest.mark.parametrize("items", [math_item("a", 1, 1), "text"])
def test_a_batch_is_a_list_of_items(items: Any) -> None:
    with pytest.raises(TypeError, match="not a list of items"):
        batch(items)


def test_names_are_lists() -> None:
    with pytest.raises(TypeError, match="`fields` is a list of names"):
        Options.of(None, None, None, (), "reward")


def test_shared_values_precede_the_items() -> None:
    options = Options.of(None, None, None, (), None, {"shop": {"apple": 3}})
    assert json.loads(options.head() + "]}") == {"shared": {"shop": {"apple": 3}}, "items": []}
