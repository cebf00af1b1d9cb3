"""Runs the tests of a file with pytest, in the judging instance.

The tests come from a module that exists already, and pytest reads neither configuration nor
plugins: the program may have written files with their names.
"""

from . import isolation

isolation.own_builtins(globals())

import asyncio  # noqa: E402
import inspect  # noqa: E402
import pathlib  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402

from .suspicious import FILES, is_remote  # noqa: E402

# The values of failed tests are never formatted: they may be objects of the program.
_OPTIONS = """
--assert=plain --capture=no --tb=native --maxfail=1 --noconftest
--config-file=/dev/null --rootdir=/ -p no:cacheprovider
""".split()

# The packages whose files pytest looks up. Frozen modules have no file.
_LOCATED = ("pluggy", "_pytest")


class NotRun(Exception):
    """No test of the file ran, so the file tells nothing about the program."""


class Failed(Exception):
    """A test failed without an exception."""


def locate():
    """Gives the packages of pytest a file name, which pytest needs before it is imported."""
    for name in _LOCATED:
        __import__(name)
        sys.modules[name].__file__ = f"/{name}/__init__.py"


def run(namespace):
    """Runs the tests that a namespace contains. Raises the exception of the first failed test."""
    import pytest

    module = types.ModuleType("test")
    # To examine an object of the program for tests would be a request to the program.
    module.__dict__.update(
        {name: value for name, value in namespace.items() if not is_remote(value)}
    )

    class Module(pytest.Module):
        def _getobj(self):
            return module

    plugin = _plugin(pytest, Module)
    status = pytest.main(_OPTIONS, [plugin])
    if plugin.error is not None:
        raise plugin.error.with_traceback(_trace_of_file(plugin.error))
    if plugin.failed or status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise Failed(plugin.failed or f"pytest ended with status {int(status)}")
    if not plugin.passed:
        raise NotRun(f"no test ran, {plugin.skipped} skipped")


def _trace_of_file(error):
    """The traceback from the first line of the file, without the frames of pytest before it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename not in FILES:
        trace = trace.tb_next
    return trace


def _plugin(pytest, module_class):
    class Plugin:
        error = None
        failed = ""
        passed = skipped = 0

        @pytest.hookimpl(trylast=True)
        def pytest_configure(self, config):
            config.pluginmanager.unregister(name="terminalreporter")

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session):
            module = module_class.from_parent(session, path=pathlib.Path("/test.py"))
            session.items = list(session.genitems(module))
            session.config.hook.pytest_collection_modifyitems(
                session=session, config=session.config, items=session.items
            )
            session.testscollected = len(session.items)
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            """The report, without a text of the failure."""
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
            if self.error is None:
                self.error = call.excinfo.value

        def pytest_runtest_logreport(self, report):
            if report.failed:
                self.failed = self.failed or f"{report.nodeid}: {report.longrepr or 'failed'}"
            elif report.skipped and not hasattr(report, "wasxfail"):
                self.skipped += 1
            elif report.when == "call":
                self.passed += 1

    return Plugin()
