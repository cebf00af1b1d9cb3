"""Reads streamed replies: JSON lines that end with a line of the type `end`."""

from __future__ import annotations

import json
from typing import Any

from assay.errors import RequestRejectedError


class StreamError(Exception):
    """The stream is broken or incomplete; the request can be sent again."""


class LineReader:
    """Splits bytes into JSON objects and recognises the end."""

    def __init__(self) -> None:
        self._rest = b""
        self.has_ended = False

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The objects whose lines are complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [self._read(line) for line in lines if line.strip()]

    def finish(self) -> None:
        """Checks at the end of the data that the stream is complete."""
        if not self.has_ended:
            raise StreamError("the stream ended without a line of the type `end`")

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            read = json.loads(line)
            kind = read["type"]
        except (ValueError, KeyError, TypeError) as error:
            raise StreamError(f"a line of the stream is not valid: {error}") from None
        if kind == "end":
            self.has_ended = True
        elif kind == "error":
            fault = read.get("error", {})
            if fault.get("retryable", True):
                raise StreamError(f"the server ended the stream: {fault.get('message')}")
            raise RequestRejectedError(str(fault.get("message")), 200, str(fault.get("code")))
        return dict(read)
