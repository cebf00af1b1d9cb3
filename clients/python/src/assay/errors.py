"""The errors that this package raises; all of them are subclasses of `AssayError`."""

from __future__ import annotations


class AssayError(Exception):
    """Base class of the errors of this package."""


class MissingFieldError(AssayError, AttributeError):
    """A field was read that the reply does not contain, because `fields` leaves it out."""


class NotGradedError(AssayError):
    """A number was requested for items that have none.

    `positions` are the positions of these items in the request.
    """

    def __init__(self, message: str, positions: list[int]) -> None:
        super().__init__(message, positions)
        self.positions = positions

    def __str__(self) -> str:
        return str(self.args[0])


class PromptMissingError(AssayError):
    """A task needs the prompt, and the row has none, so no completion would have a reward."""


class SplitBatchError(AssayError):
    """A batch was split into several requests, but a requested value depends on the whole batch."""


class RequestRejectedError(AssayError):
    """The server rejected a request.

    `status` is the HTTP status, `code` the stable code of the error, `pointer` the JSON pointer to
    the field at fault, if there is one, and `request_id` the id of the request in the server's log.
    """

    def __init__(
        self,
        message: str,
        status: int,
        code: str,
        pointer: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, status, code, pointer, request_id)
        self.message = message
        self.status = status
        self.code = code
        self.pointer = pointer
        self.request_id = request_id

    def __str__(self) -> str:
        place = f" at `{self.pointer}`" if self.pointer else ""
        return f"{self.status} `{self.code}`{place}: {self.message}"


class UnexpectedReplyError(AssayError):
    """The reply does not follow the protocol; check that the URL is that of an Assay server."""


class ServerUnavailableError(AssayError):
    """No server could be reached, or a connection was lost, for longer than `server_timeout`."""


class DeadlineExceededError(AssayError, TimeoutError):
    """The deadline of a call passed. The server may still grade what it has accepted."""


class BinaryNotFoundError(AssayError):
    """The binary `assay` is not installed."""


class CommandFailedError(AssayError):
    """The binary `assay` reported an error; `output` contains its standard error."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message, output)
        self.output = output

    def __str__(self) -> str:
        return str(self.args[0])
