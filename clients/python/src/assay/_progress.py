"""Progress of long calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Union

# Called with the number of items that are done, and with their total.
Report = Callable[[int, int], None]
Progress = Union[bool, Report]

WIDTH = 30
# Seconds between updates.
EVERY = 0.1
EVERY_LINE = 10.0


class Bar:
    """A bar on standard error; a line every ten seconds if it is not a terminal."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._next = self._began + (0 if self._is_terminal else EVERY_LINE)

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        is_last = done >= total
        if now < self._next and not (is_last and self._is_terminal):
            return
        self._next = now + (EVERY if self._is_terminal else EVERY_LINE)
        rate = done / max(now - self._began, 1e-9)
        text = f"{done:,} of {total:,} items, {rate:,.0f} a second"
        if self._is_terminal:
            filled = WIDTH * done // max(total, 1)
            bar = "#" * filled + "-" * (WIDTH - filled)
            print(f"\r[{bar}] {text} ", end="\n" if is_last else "", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def reporter(progress: Progress | None) -> Report:
    """The function for a `progress` argument."""
    if progress is True:
        return Bar()
    if callable(progress):
        return progress
    return lambda done, total: None
