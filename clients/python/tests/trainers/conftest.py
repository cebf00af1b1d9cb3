"""Limits the duration of each test, because trainers start processes and threads that may never
end."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator

import pytest

# The slowest tests take minutes on a machine with other work.
MAX_SECONDS = 900.0

STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    # While a test runs, its output is captured, and would be lost with the process.
    config.stash[STDERR] = os.dup(2)


@pytest.fixture(autouse=True)
def limited(request: pytest.FixtureRequest) -> Iterator[None]:
    """Ends the process if the test takes too long, and prints where its threads are."""
    faulthandler.dump_traceback_later(MAX_SECONDS, exit=True, file=request.config.stash[STDERR])
    yield
    faulthandler.cancel_dump_traceback_later()
