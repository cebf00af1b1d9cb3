"""The servers of a client: which of them is up, and which takes the next request."""

from __future__ import annotations

import hashlib
import random
import re
import threading
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
# Seconds between reports of failures of one server.
REPORT_PAUSE = 10.0


def pause(failures: int, chance: Callable[[], float] = random.random) -> float:
    """Seconds to wait after a number of failures in a row, between half and all of a length that
    doubles, so that many clients do not retry at the same time."""
    nominal = min(FIRST_PAUSE * 2.0 ** min(failures, 16), LONGEST_PAUSE)
    return nominal * (0.5 + chance() / 2)


class Node:
    """One server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"invalid server URL `{url}`; write it as `http://127.0.0.1:8080`")
        self.url = url.rstrip("/")
        # For messages, without keys.
        host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
        path = re.sub(r"/k/[^/]+", "/k/…", parts.path.rstrip("/"))
        self.name = f"{parts.scheme}://{host}{path}"
        self.is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        # Items that are being graded there for this client.
        self.load = 0
        # Failures in a row; a node with failures must answer a probe before it is used.
        self.failures = 0
        self.retry_at = 0.0
        self.down_since = 0.0
        # When the last request or probe began.
        self.tried_at = 0.0
        # Why the last request failed.
        self.failure = ""
        # Failures before this time are not logged.
        self.report_at = 0.0
        self.is_probing = False
        # A node that is overloaded is up, but takes nothing before this time.
        self.busy_until = 0.0
        self.rejections = 0

    @property
    def is_down(self) -> bool:
        """Whether the last request failed."""
        return self.failures > 0


class Wait:
    """No node takes a request now."""

    def __init__(self, seconds: float, is_down: bool) -> None:
        self.seconds = seconds
        # Whether all nodes are down, rather than busy.
        self.is_down = is_down


class Nodes:
    """The servers of a client. Safe to use from several threads."""

    def __init__(
        self,
        urls: Sequence[str],
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        if not urls:
            raise ValueError("a client needs at least one server URL")
        self.all = [Node(url) for url in urls]
        self._clock = clock
        self._chance = chance
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Forgets what other threads of the parent were doing."""
        self._lock = threading.Lock()
        for node in self.all:
            node.load, node.is_probing = 0, False

    def take(self, weight: int, only: Node | None = None) -> tuple[Node, bool] | Wait:
        """The node for a request, or a node to probe first (`True`), or how long to wait.

        A node for a request counts `weight` items more until it is released.
        """
        with self._lock:
            now = self._clock()
            candidates = [only] if only else self.all
            due = [
                node
                for node in candidates
                if node.is_down and not node.is_probing and node.retry_at <= now
            ]
            if due:
                node = min(due, key=lambda node: node.retry_at)
                node.is_probing, node.tried_at = True, now
                return node, True
            ready = [node for node in candidates if not node.is_down and node.busy_until <= now]
            if ready:
                # Ties are broken at random, so that clients do not all begin with the first.
                node = min(ready, key=lambda node: (node.load, self._chance()))
                node.load += weight
                node.tried_at = now
                return node, False
            times = [
                node.busy_until
                if not node.is_down
                # The result of another request's probe will be known soon.
                else max(node.retry_at, now + FIRST_PAUSE / 2 if node.is_probing else 0.0)
                for node in candidates
            ]
            is_down = all(node.is_down for node in candidates)
            return Wait(max(min(times) - now, 0.001), is_down)

    def preferred(self, key: str) -> Node:
        """The node for a key: always the same, and another for other keys (rendezvous hashing)."""

        def weight(node: Node) -> bytes:
            return hashlib.blake2b(f"{key} {node.url}".encode(), digest_size=8).digest()

        return max(self.all, key=weight)

    def release(self, node: Node, weight: int) -> None:
        """Ends a request."""
        with self._lock:
            node.load -= weight

    def end_probe(self, node: Node) -> None:
        """Ends a probe, whatever it found."""
        with self._lock:
            node.is_probing = False

    def mark_up(self, node: Node) -> None:
        """The node answered."""
        with self._lock:
            node.failures = 0

    def mark_accepting(self, node: Node) -> None:
        """The node accepted a request."""
        with self._lock:
            node.failures = node.rejections = 0

    def mark_down(self, node: Node, failure: str) -> None:
        """The node cannot be reached, or is shutting down."""
        with self._lock:
            node.failure = failure
            if not node.is_down:
                node.down_since = self._clock()
            node.retry_at = self._clock() + pause(node.failures, self._chance)
            node.failures += 1

    def failures(self) -> str:
        """Why nodes are down; empty if none is."""
        return "; ".join(node.failure for node in self.all if node.is_down)

    def must_report(self, node: Node) -> bool:
        """Whether to log a failure of the node: at most one per `REPORT_PAUSE`."""
        with self._lock:
            now = self._clock()
            is_due = node.report_at <= now
            if is_due:
                node.report_at = now + REPORT_PAUSE
            return is_due

    def mark_busy(self, node: Node, retry_after: float | None) -> None:
        """The node is overloaded."""
        with self._lock:
            wait = max(pause(node.rejections, self._chance), retry_after or 0.0)
            node.busy_until = max(node.busy_until, self._clock() + wait)
            node.rejections += 1
