"""Hostile inputs: how they are named, drawn and sent."""

import dataclasses


@dataclasses.dataclass
class Input:
    """A request. `name` is the shape of its content, with the sizes that were drawn."""

    name: str
    body: dict
    path: str = "/v1/grade"


def graded(name, task, completion="x", **item):
    return Input(name, {"items": [{"completion": completion, "task": task, **item}]})


def draw(shapes, rng, count):
    """`count` inputs: each shape in a random order, then again with other sizes. A shape is a
    function of a random generator.
    """
    order = []
    while len(order) < count:
        order += rng.sample(shapes, len(shapes))
    return [shape(rng) for shape in order[:count]]
