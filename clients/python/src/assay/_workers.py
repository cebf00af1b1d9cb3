"""Threads for the requests of one call."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

from assay.errors import AssayError


class Stopped(Exception):
    """The caller abandoned the call, so its threads stop."""


class Workers:
    """Runs tasks by number in threads, and passes on what they post.

    The threads do not keep the interpreter alive: after an interrupt, nothing waits for requests
    that are in flight.
    """

    def __init__(self, task: Callable[[int], None], count: int, limit: int) -> None:
        self._task = task
        self._count = count
        self._numbers = itertools.count()
        self._posted: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._limit = limit

    def start(self) -> None:
        """Starts the threads."""
        for number in range(min(self._count, self._limit)):
            name = f"assay-request-{number}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def post(self, event: Any) -> None:
        """Passes an event on to the thread that reads `events`."""
        if self._stopped.is_set():
            raise Stopped
        self._posted.put((event, None))

    def stop(self) -> None:
        """Lets the threads end at the next event, and the reader of `events` at once."""
        self._stopped.set()
        self._posted.put((None, None))

    def events(self) -> Iterator[Any]:
        """What the tasks post, until all are done. Raises the first error of a task."""
        finished = 0
        try:
            while finished < self._count:
                event, error = self._posted.get()
                if self._stopped.is_set():
                    raise AssayError("the stream was closed")
                if error is not None:
                    raise error
                if event is _FINISHED:
                    finished += 1
                else:
                    yield event
        finally:
            self.stop()

    def _work(self) -> None:
        for number in self._numbers:
            if number >= self._count or self._stopped.is_set():
                return
            try:
                self._task(number)
            except Stopped:
                return
            except BaseException as error:
                self._posted.put((None, error))
                return
            self._posted.put((_FINISHED, None))


_FINISHED = object()
