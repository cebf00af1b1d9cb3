"""Pools of processes and threads that run tasks immediately, one after another, in the program's
own process.

Arguments and results of a process pool are pickled, as in native CPython: a value that cannot be
pickled raises an exception, and workers get copies. Unlike in native CPython, changes that workers
make to global variables are visible to the program.
"""

import concurrent.futures
import pickle


def _as_is(value):
    return value


def _sent(value):
    return pickle.loads(pickle.dumps(value))


class Result:
    """The result of a call, which has already run."""

    def __init__(self, call, callback=None, error_callback=None):
        self._value = self._error = None
        try:
            self._value = call()
        except Exception as error:
            self._error = error
        chosen = callback if self._error is None else error_callback
        if chosen is not None:
            chosen(self._value if self._error is None else self._error)

    def ready(self):
        return True

    def successful(self):
        return self._error is None

    def wait(self, timeout=None):
        pass

    def get(self, timeout=None):
        if self._error is not None:
            raise self._error
        return self._value


class ThreadPool:
    """`multiprocessing.pool.ThreadPool`."""

    _carried = staticmethod(_as_is)

    def __init__(self, processes=None, initializer=None, initargs=()):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._is_open = True
        if initializer is not None:
            initializer(*self._carried(initargs))

    def _check(self):
        if not self._is_open:
            raise ValueError("Pool not running")

    def _call(self, function, args=(), kwargs=None):
        function, args, kwargs = self._carried((function, tuple(args), kwargs or {}))
        return self._carried(function(*args, **kwargs))

    def apply(self, func, args=(), kwds={}):
        self._check()
        return self._call(func, args, kwds)

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        self._check()
        return Result(lambda: self._call(func, args, kwds), callback, error_callback)

    def map(self, func, iterable, chunksize=None):
        self._check()
        return [self._call(func, (item,)) for item in list(iterable)]

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        self._check()
        return Result(lambda: self.map(func, iterable), callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        self._check()
        return [self._call(func, items) for items in list(iterable)]

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        self._check()
        return Result(lambda: self.starmap(func, iterable), callback, error_callback)

    def imap(self, func, iterable, chunksize=1):
        self._check()
        return (self._call(func, (item,)) for item in iterable)

    imap_unordered = imap

    def close(self):
        self._is_open = False

    terminate = close

    def join(self):
        if self._is_open:
            raise ValueError("Pool is still running")

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, *raised):
        self.terminate()

    def __reduce__(self):
        raise NotImplementedError("pool objects cannot be passed between processes or pickled")


class Pool(ThreadPool):
    """`multiprocessing.Pool`."""

    _carried = staticmethod(_sent)

    def __init__(
        self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None
    ):
        super().__init__(processes, initializer, initargs)


class ProcessPoolExecutor(concurrent.futures.Executor):
    """`concurrent.futures.ProcessPoolExecutor`."""

    def __init__(
        self,
        max_workers=None,
        mp_context=None,
        initializer=None,
        initargs=(),
        *,
        max_tasks_per_child=None,
    ):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._is_open = True
        if initializer is not None:
            initializer(*_sent(initargs))

    def submit(self, fn, /, *args, **kwargs):
        if not self._is_open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            function, args, kwargs = _sent((fn, args, kwargs))
            future.set_result(_sent(function(*args, **kwargs)))
        except Exception as error:
            future.set_exception(error)
        return future

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        return super().map(fn, *iterables, timeout=timeout)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._is_open = False
