"""Reads replies of limited size: decompression, and JSON without NaN and infinity."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any, cast

import zstandard

from assay.errors import UnexpectedReplyError

# Bytes that one step of decompression yields at most: a few compressed bytes can be many.
STEP = 1 << 18
GZIP = 31


class DecodeError(Exception):
    """The bytes of a reply are not valid; the request can be sent again."""


class TooLongError(UnexpectedReplyError):
    """A reply is longer than any reply to its request."""


class BodyDecoder:
    """Decompresses the body of a reply, and passes it on in pieces.

    Raises `TooLongError` when the pieces have more than `most` bytes.
    """

    def __init__(self, encoding: str, most: int, emit: Callable[[bytes], None]) -> None:
        self._most = most
        self._emit = emit
        self._size = 0
        self._gzip = zlib.decompressobj(GZIP) if encoding in ("gzip", "x-gzip") else None
        # Writes to this object.
        self._zstd = (
            zstandard.ZstdDecompressor().stream_writer(cast(Any, self), write_size=STEP)
            if encoding == "zstd"
            else None
        )
        if self._gzip is None and self._zstd is None and encoding not in ("", "identity"):
            raise UnexpectedReplyError(f"the reply has the unknown encoding `{encoding}`")

    def feed(self, data: bytes) -> None:
        """Takes bytes as they arrived."""
        try:
            if self._zstd is not None:
                self._zstd.write(data)
            elif self._gzip is not None:
                while data:
                    self.write(self._gzip.decompress(data, STEP))
                    data = self._gzip.unconsumed_tail
            else:
                self.write(data)
        except (zlib.error, zstandard.ZstdError) as error:
            raise DecodeError(f"the body cannot be decompressed: {error}") from None

    def write(self, piece: bytes) -> int:
        """Passes decompressed bytes on."""
        self._size += len(piece)
        if self._size > self._most:
            raise TooLongError(f"the reply has more than {self._most} bytes")
        # The piece can be a view of a buffer that is used again.
        self._emit(bytes(piece))
        return len(piece)


def _reject(name: str) -> Any:
    raise ValueError(f"`{name}` is not JSON")


def decode(data: bytes) -> Any:
    """A JSON value. Raises `DecodeError` for what is not JSON, such as NaN."""
    try:
        return json.loads(data, parse_constant=_reject)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not JSON: {error}") from None
