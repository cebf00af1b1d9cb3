"""Functions in options, as they are pickled.

`pickle` stores the name of a function, which lambdas and functions inside functions lack. They are
pickled by value with `cloudpickle`, which trainers that start processes install.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _ByValue:
    """A function that `cloudpickle` has pickled."""

    data: bytes


def as_picklable(name: str, value: Any) -> Any:
    """An option as `pickle` can store it."""
    if not callable(value) or _has_name(value):
        return value
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        try:
            pickle.dumps(value)
        except Exception as error:
            raise pickle.PicklingError(
                f"`{name}` cannot be pickled for another process ({error}); define the function "
                "with `def` at the top level of a module, or install `cloudpickle`"
            ) from None
        return value
    return _ByValue(cloudpickle.dumps(value))


def from_pickled(value: Any) -> Any:
    """The option that `as_picklable` stored."""
    # What `cloudpickle` writes is read by `pickle`.
    return pickle.loads(value.data) if isinstance(value, _ByValue) else value


def _has_name(function: Any) -> bool:
    """Whether a function is found by its name in its module."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    found: Any = module
    for part in getattr(function, "__qualname__", "<unknown>").split("."):
        found = getattr(found, part, None)
    return found is function
