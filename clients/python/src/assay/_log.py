"""The log of the binary: its last lines for error messages, and notices of slow work."""

from __future__ import annotations

import collections
import sys
from typing import IO

# Lines that are kept.
LOG_LINES = 200
# Log lines about slow work on first use, which would otherwise look like a hang.
NOTICES = ("compiling an image", "compiled an image")


def read_log(source: IO[bytes], lines: collections.deque[str], show: bool) -> None:
    """Keeps the last lines of a log. Shows all of them or notices on standard error."""
    with source:
        for line in source:
            text = line.decode("utf-8", "replace").rstrip("\n")
            lines.append(text)
            notice = next((text[text.find(one) :] for one in NOTICES if one in text), None)
            if show:
                print(text, file=sys.stderr, flush=True)
            elif notice:
                print(f"assay: {notice}", file=sys.stderr, flush=True)
