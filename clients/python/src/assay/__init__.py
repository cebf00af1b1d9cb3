"""Verifiable rewards for reinforcement learning: the client of Assay.

`grade` grades a batch without a server, `serve` starts a private node, and `Client` and
`AsyncClient` use servers that run elsewhere.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from assay._commands import check, grade
from assay._server import Server, serve
from assay.aio import AsyncClient, AsyncGradeStream
from assay.client import Client, GradeStream
from assay.errors import (
    AssayError,
    BinaryNotFoundError,
    CommandFailedError,
    DeadlineExceededError,
    MissingFieldError,
    NotGradedError,
    PromptMissingError,
    RequestRejectedError,
    ServerUnavailableError,
    SplitBatchError,
    UnexpectedReplyError,
)
from assay.jobs import AsyncJobs, Jobs
from assay.results import Results
from assay.rollouts import Rollouts
from assay.sessions import AsyncSession, Session
from assay.shadows import AsyncShadows, Shadows

try:
    __version__ = version("assay-rewards")
except PackageNotFoundError:
    # The source folder, without an installation.
    __version__ = "0"

__all__ = [
    "AssayError",
    "AsyncClient",
    "AsyncGradeStream",
    "AsyncJobs",
    "AsyncSession",
    "AsyncShadows",
    "BinaryNotFoundError",
    "Client",
    "CommandFailedError",
    "DeadlineExceededError",
    "GradeStream",
    "Jobs",
    "MissingFieldError",
    "NotGradedError",
    "PromptMissingError",
    "RequestRejectedError",
    "Results",
    "Rollouts",
    "Server",
    "ServerUnavailableError",
    "Session",
    "Shadows",
    "SplitBatchError",
    "UnexpectedReplyError",
    "check",
    "grade",
    "serve",
]
