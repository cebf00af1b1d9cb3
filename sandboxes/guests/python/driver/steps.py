"""Coroutines of the program that a test awaits: each is a task of one event loop here, which the
test's loop advances step by step, so that several take turns and can be cancelled.
"""

from . import isolation

isolation.own_builtins(globals())

import asyncio  # noqa: E402


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose time is that of the test's loop."""

    now = 0.0

    def time(self):
        return self.now


class Steps:
    """The loop, and the tasks that have not ended, by the identity of their coroutine."""

    def __init__(self):
        self._loop = None
        self._tasks = {}

    def step(self, coroutine, now, cancelled):
        """Runs the tasks until all of them wait. Returns `("done", result)` or `("cancelled",)` if
        the one of this coroutine has ended, else `("waits", seconds)`, or `("waits", None)` if it
        waits for another one; raises its exception.
        """
        if self._loop is None:
            self._loop = _Loop()
        self._loop.now = now
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        try:
            return self._step(coroutine, cancelled)
        finally:
            asyncio._set_running_loop(outer)

    def _step(self, coroutine, cancelled):
        loop, task = self._loop, self._tasks.get(id(coroutine))
        if task is None:
            task = self._tasks[id(coroutine)] = loop.create_task(coroutine)
            # Its first step comes before further ones of other tasks, as natively.
            first = loop._ready.pop()
            asyncio._set_running_loop(loop)
            first._run()
            asyncio._set_running_loop(None)
        else:
            if cancelled:
                task.cancel()
            self._run_once()
        if not task.done():
            return ("waits", self._delay())
        del self._tasks[id(coroutine)]
        return ("cancelled",) if task.cancelled() else ("done", task.result())

    def _run_once(self):
        """Runs what is ready, without waiting."""
        self._loop.stop()
        self._loop.run_forever()

    def _delay(self):
        """Seconds until something is ready."""
        loop = self._loop
        if loop._ready:
            return 0
        timers = [timer._when for timer in loop._scheduled if not timer._cancelled]
        return max(0, min(timers) - loop.now) if timers else None
