"""Exceptions for operations that the sandbox refuses. Each has `_assay_limit`, the cause and the
name, for evidence and metrics.
"""

import errno

MESSAGES = {
    "process": "the sandbox starts no processes",
    "network": "the sandbox has no network",
    "file": "the sandbox has no such file system call",
}


def refusal(cause, name, kind=OSError):
    """The exception for a refused function or class, such as `os.fork`."""
    error = kind(errno.ENOTSUP, f"`{name}` is refused: {MESSAGES[cause]}")
    error._assay_limit = (cause, name)
    return error


def refused(cause, name, kind=OSError):
    """A function that accepts any arguments and raises the refusal."""

    def refuse(*args, **kwargs):
        raise refusal(cause, name, kind)

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    return refuse
