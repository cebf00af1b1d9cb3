"""Reads streamed replies: JSON lines that end with a line of the type `end`."""

from __future__ import annotations

from typing import Any

from assay._decoding import DecodeError, decode
from assay.errors import RequestRejectedError


class LineReader:
    """Splits bytes into JSON objects and recognises the end."""

    def __init__(self) -> None:
        # The pieces of a line that is not complete.
        self._pieces: list[bytes] = []
        self.has_ended = False

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The objects whose lines are complete."""
        first, *others = data.split(b"\n")
        self._pieces.append(first)
        if not others:
            return []
        lines = [b"".join(self._pieces), *others[:-1]]
        self._pieces = [others[-1]]
        return [self._read(line) for line in lines if line.strip()]

    def finish(self) -> None:
        """Checks at the end of the data that the stream is complete."""
        if not self.has_ended:
            raise DecodeError("the stream ended without a line of the type `end`")

    def _read(self, line: bytes) -> dict[str, Any]:
        read = decode(line)
        if not isinstance(read, dict) or not isinstance(read.get("type"), str):
            raise DecodeError("a line of the stream is not an object with a type")
        if self.has_ended:
            raise DecodeError("the stream has a line after its end")
        if read["type"] == "end":
            if not isinstance(read.get("batch"), str):
                raise DecodeError("the end of the stream does not name its batch")
            self.has_ended = True
        elif read["type"] == "error":
            fault = read.get("error")
            if not isinstance(fault, dict):
                raise DecodeError("an error of the stream has no reason")
            if fault.get("retryable", True):
                raise DecodeError(f"the server ended the stream: {fault.get('message')}")
            raise RequestRejectedError(str(fault.get("message")), 200, str(fault.get("code")))
        return read
