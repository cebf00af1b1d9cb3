"""Threads in an interpreter that has none: started, they run at once and to their end.

Programs start a thread for a larger stack, or a few to share work. Both do what they did, in an order that never changes. What
waits for another thread to come along waits for ever, and its work runs out.
"""

import concurrent.futures
import sys
import threading


def _start(self):
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    self._started.set()
    try:
        self.run()
    except SystemExit:
        pass
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), self]))
    finally:
        self._assay_ended = True


def _join(self, timeout=None):
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")


def _is_alive(self):
    return self._started.is_set() and not getattr(self, "_assay_ended", False)


def _submit(self, function, /, *args, **kwargs):
    future = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    try:
        future.set_result(function(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def install():
    threading.Thread.start = _start
    threading.Thread.join = _join
    threading.Thread.is_alive = _is_alive
    threading.stack_size = lambda size=0: 0
    concurrent.futures.ThreadPoolExecutor.submit = _submit
