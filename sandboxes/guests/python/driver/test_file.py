"""Runs the tests of a pytest file, in the judging instance.

The tests come from a module that exists already, and pytest loads neither configuration nor
plugins, because the program may have written such files.
"""

from . import isolation

isolation.own_builtins(globals())

import asyncio  # noqa: E402
import functools  # noqa: E402
import inspect  # noqa: E402
import pathlib  # noqa: E402
import sys  # noqa: E402

from .suspicious import FILES, inside, is_remote  # noqa: E402

# Values in failed tests are never formatted, because they may be objects of the program.
_OPTIONS = """
--assert=plain --capture=no --tb=native --maxfail=1 --noconftest
--config-file=/dev/null --rootdir=/ -p no:cacheprovider
""".split()

# Packages whose `__file__` pytest reads. Frozen modules have none.
_LOCATED = ("pluggy", "_pytest")

# The classes of `pytest.approx`, whose comparison would iterate over an object of the program.
_APPROXIMATE = "ApproxScalar ApproxMapping ApproxSequenceLike ApproxNumpy".split()


class NotRun(Exception):
    """No test of the file ran, so there is no result for the program."""


class Failed(Exception):
    """A test failed without an exception."""


def prepare():
    """Prepares pytest, before it is imported for the first time."""
    global _main, pytest
    for name in _LOCATED:
        __import__(name)
        sys.modules[name].__file__ = f"/{name}/__init__.py"
    import pytest

    _main = pytest.main


_main = pytest = None


def prepare_judge():
    """Prepares pytest for `assert` and `pytest` tests in this instance."""
    if pytest is None:
        return
    import _pytest.config

    # These functions would read files, which the program may have written.
    for module in (pytest, _pytest.config):
        module.main = module.console_main = _refused
    _compare_plain_values()


def _refused(*args, **kwargs):
    error = RuntimeError("a test cannot start pytest; use a `pytest` test")
    error._assay_unsupported = True
    raise error


def is_fault_of_file(error):
    """Whether an exception of pytest is caused by a mistake in the file."""
    return pytest is not None and isinstance(error, pytest.FixtureLookupError)


def is_failure(error):
    """Whether an exception is a failure that the file reports with `pytest.fail` or `raises`."""
    return pytest is not None and isinstance(error, pytest.fail.Exception)


def description(error):
    """The message for an exception of this module or of pytest, or `None` for others."""
    if isinstance(error, (NotRun, Failed)):
        return str(error)
    if is_fault_of_file(error):
        return f"fixture `{error.argname}` not found; the image has no pytest plugins"
    return None


def run(module):
    """Runs the tests that a module contains. Raises the exception of the first failed test."""
    _examine_no_objects_of_the_program()
    plugin = _plugin(module)
    status = _main(_OPTIONS, [plugin])
    if plugin.error is not None:
        raise plugin.error.with_traceback(_trace_of_file(plugin.error))
    if plugin.failed or status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise Failed(plugin.failed or f"pytest ended with status {int(status)}")
    if not plugin.passed:
        raise NotRun(f"no test of the file ran ({plugin.skipped} skipped)")


def _trace_of_file(error):
    """The traceback from the first line of the file, without the frames of pytest before it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename not in FILES:
        trace = trace.tb_next
    return trace


def _compare_plain_values():
    """Makes `pytest.approx` compare only the plain value inside an object of the program."""
    from _pytest import python_api

    for name in _APPROXIMATE:
        kind = getattr(python_api, name)
        if "__eq__" in vars(kind):
            kind.__eq__ = _comparing_plain(kind.__eq__)
    approx = python_api.approx

    def approximate(expected, *args, **kwargs):
        return approx(_plain(expected), *args, **kwargs)

    pytest.approx = python_api.approx = functools.update_wrapper(approximate, approx)


def _comparing_plain(equal):
    return lambda self, actual: equal(self, _plain(actual))


def _plain(value):
    """The plain value inside an object of the program, or an object that is equal to nothing."""
    if not is_remote(value):
        return value
    found = inside(value)
    return object() if found is None else found


def _examine_no_objects_of_the_program():
    """Makes pytest look for fixtures only in objects of the test: examining an object of the
    program would send it a request.
    """
    from _pytest import fixtures

    marker_of = fixtures.getfixturemarker
    fixtures.getfixturemarker = lambda thing: None if is_remote(thing) else marker_of(thing)


def _plugin(module):
    class Module(pytest.Module):
        def _getobj(self):
            return module

    class Plugin:
        error = None
        failed = ""
        passed = skipped = 0

        @pytest.hookimpl(trylast=True)
        def pytest_configure(self, config):
            config.pluginmanager.unregister(name="terminalreporter")

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session):
            collector = Module.from_parent(session, path=pathlib.Path("/test.py"))
            session.items = list(session.genitems(collector))
            session.config.hook.pytest_collection_modifyitems(
                session=session, config=session.config, items=session.items
            )
            session.testscollected = len(session.items)
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_pycollect_makeitem(self, obj):
            return [] if is_remote(obj) else None

        @pytest.hookimpl
        def pytest_runtest_makereport(self, item, call):
            """Creates a report without a description of the failure. Runs after the hook that reads
            the results of `unittest`.
            """
            outcome = "passed"
            if call.excinfo is not None:
                skipped = call.excinfo.errisinstance(pytest.skip.Exception)
                outcome = "skipped" if skipped else "failed"
            return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, call.when)

        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(self, pyfuncitem):
            """Runs a test that is a coroutine, as plugins for `asyncio` do."""
            if not inspect.iscoroutinefunction(pyfuncitem.obj):
                return None
            fixtures = pyfuncitem.funcargs
            names = pyfuncitem._fixtureinfo.argnames
            asyncio.run(pyfuncitem.obj(**{name: fixtures[name] for name in names}))
            return True

        def pytest_exception_interact(self, call):
            self._note(call.excinfo)

        def pytest_internalerror(self, excinfo):
            self._note(excinfo)

        def pytest_keyboard_interrupt(self, excinfo):
            self._note(excinfo)

        def _note(self, excinfo):
            if self.error is None:
                self.error = excinfo.value

        def pytest_runtest_logreport(self, report):
            if report.failed:
                self.failed = self.failed or f"{report.nodeid}: {report.longrepr or 'failed'}"
            elif report.skipped and not hasattr(report, "wasxfail"):
                self.skipped += 1
            elif report.when == "call":
                self.passed += 1

    return Plugin()
