"""What a part of the proof found. Every row is written at once, so that a part that is stopped
keeps what it has.
"""

import json
import time


class Report:
    """Rows of a table, and what failed. Problems that begin with `note: ` are not failures."""

    def __init__(self, path):
        self.path = path
        self.found = {"rows": [], "problems": []}
        self.save()

    def row(self, cells):
        """Adds a row: cells by the names of their columns."""
        self.found["rows"].append(cells)
        self.save()

    def problem(self, text):
        self.found["problems"].append(text)
        self.save()

    def note(self, text):
        self.problem(f"note: {text}")

    def save(self):
        self.path.write_text(json.dumps(self.found))


class Deadline:
    """The end of a part."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def is_over(self):
        return time.monotonic() >= self.end

    def remaining(self):
        """Seconds, at least one."""
        return max(1.0, self.end - time.monotonic())
