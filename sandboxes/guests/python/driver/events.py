"""Log messages and warnings of the program that a test looks for: they are sent with the reply to a
request, and the test's instance logs them, or warns, as if its own code had.
"""

from . import isolation

isolation.own_builtins(globals())

import warnings  # noqa: E402

from . import failures  # noqa: E402

# Names that a test uses if it looks for them.
LOGS = frozenset("caplog assertLogs assertNoLogs".split())
WARNINGS = frozenset(
    "warns deprecated_call recwarn catch_warnings assertWarns assertWarnsRegex".split()
)

# Most events of one request, and most characters of a message.
_MOST, _LONGEST = 1_000, 10_000


def levels():
    """The levels of all loggers that have one, by name."""
    import logging

    loggers = {"": logging.root} | logging.root.manager.loggerDict
    return {
        name: logger.level
        for name, logger in loggers.items()
        if isinstance(logger, logging.Logger) and logger.level
    }


class Collector:
    """The program's side: what was logged since the last reply."""

    def __init__(self):
        self._events = []
        self._logs = self._warnings = False
        # Levels of loggers before the test set them, by name.
        self._originals = {}

    def take(self, peer):
        """The messages about what happened since the last reply."""
        events, self._events = self._events, []
        return [
            ["warning", failures.packed(peer, event[1]), *event[2:]] if event[0] == "warning" else event
            for event in events
        ]

    def _add(self, *event):
        if len(self._events) < _MOST:
            self._events.append(event)

    def collect_logs(self, levels):
        """Collects log messages, at the levels that the test has set."""
        import logging

        for name in self._originals.keys() - levels.keys():
            logging.getLogger(name or None).setLevel(self._originals.pop(name))
        for name, level in levels.items():
            logger = logging.getLogger(name or None)
            self._originals.setdefault(name, logger.level)
            logger.setLevel(level)
        if not self._logs:
            self._logs = True
            call_handlers = logging.Logger.callHandlers

            def collecting(logger, record):
                self._add(*_of_record(record))
                call_handlers(logger, record)

            logging.Logger.callHandlers = collecting

    def collect_warnings(self):
        if not self._warnings:
            self._warnings = True
            warnings.simplefilter("always")
            warnings.showwarning = self._warn

    def _warn(self, message, category, filename, lineno, file=None, line=None):
        self._add("warning", message, str(filename)[:_LONGEST], lineno)


def _of_record(record):
    import logging

    trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
    return (
        "log",
        record.name,
        record.levelno,
        record.getMessage()[:_LONGEST],
        trace[:_LONGEST],
        record.funcName,
        record.lineno,
    )


def repeat(peer, events):
    """The test's side: logs and warns again. Raises the warning if the test makes it an error."""
    for kind, *event in events:
        if kind == "log":
            _log(*event)
        else:
            _warn(peer, *event)


def _log(name, level, message, trace, function, line):
    import logging

    record = logging.LogRecord(str(name), int(level), "main.py", line, str(message), None, None)
    record.exc_text, record.funcName = str(trace) or None, function
    logger = logging.getLogger(None if name == "root" else str(name))
    logger.handle(record)


def _warn(peer, raised, filename, line):
    message = failures.unpacked(peer, raised, "value")
    if isinstance(message, Warning):
        warnings.warn_explicit(message, type(message), str(filename), int(line), registry={})
