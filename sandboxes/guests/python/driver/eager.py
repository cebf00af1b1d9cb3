"""Threads in a single-threaded interpreter: `start` runs a thread to completion.

Programs start a thread to get a larger stack, or several to share work. Both work, and the order is
deterministic. A wait that only another thread could end raises an exception (`assay_refuse_wait` in
`c/wide.c`); a wait with a timeout lasts for the whole timeout. A timer runs when it is joined or
when the program ends, unless it was cancelled.
"""

import _threading_local
import atexit
import concurrent.futures
import contextvars
import itertools
import os
import sys
import threading

# Identities of threads, different from that of the main thread.
_identities = itertools.count(1 << 20)


def _start(self):
    if not self._initialized:
        raise RuntimeError("thread.__init__() not called")
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    self._started.set()
    if isinstance(self, threading.Timer):
        if not self.daemon:
            atexit.register(_run_late, self)
    else:
        _run(self)


def _run(self):
    """Runs the thread as the current thread, in its own context."""
    self._ident = self._native_id = next(_identities)
    outer, main = threading._active.get(threading.get_ident()), threading.get_ident()
    threading._active[self._ident] = threading._active[main] = self
    try:
        contextvars.Context().run(self.run)
    except SystemExit:
        pass
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), self]))
    finally:
        threading._active[main] = outer
        threading._active.pop(self._ident, None)
        self._assay_ended = True


def _run_late(timer):
    if not timer.finished.is_set():
        _run(timer)
    timer._assay_ended = True


def _join(self, timeout=None):
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if threading.current_thread() is self:
        raise RuntimeError("cannot join current thread")
    if (
        isinstance(self, threading.Timer)
        and timeout is None
        and not getattr(self, "_assay_ended", False)
    ):
        _run_late(self)


def _is_alive(self):
    return self._started.is_set() and not getattr(self, "_assay_ended", False)


def _submit(self, function, /, *args, **kwargs):
    if self._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    if self._initializer is not None:
        initializer, self._initializer = self._initializer, None
        initializer(*self._initargs)
    future = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    try:
        future.set_result(function(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


# The size that the program has set. It has no effect: the only stack always has its maximum size.
_stack_size = [0]


def _set_stack_size(size=0):
    if size < 0 or 0 < size < 32768:
        raise ValueError(f"size not valid: {size} bytes")
    before, _stack_size[0] = _stack_size[0], size
    return before


def install():
    main = threading.main_thread()
    alive = threading.Thread.is_alive
    threading.Thread.start = _start
    threading.Thread.join = _join
    threading.Thread.is_alive = lambda self: alive(self) if self is main else _is_alive(self)
    threading.stack_size = _set_stack_size
    main._native_id = os.getpid()
    threading.Thread.native_id = property(lambda self: self._native_id)
    threading.get_native_id = lambda: threading.current_thread().native_id
    threading.local = _threading_local.local
    concurrent.futures.ThreadPoolExecutor.submit = _submit
