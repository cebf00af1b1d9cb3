"""Logs rewards that are missing: why, and how many."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.results import Results

LOGGER = logging.getLogger("assay")
# If none of the first completions has a reward, the run has a fault that affects all of them.
# Trainers that grade one completion at a time have at least this many in their first step.
FIRST = 8


class MissingRewards:
    """Counts the rewards that the completions of a process lack, by reason.

    A reason is logged when it first occurs, and again whenever its count has doubled. A run of
    which no completion has a reward is logged once, with its first batch of several completions or
    its first `FIRST` completions.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graded = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._has_reported_run = False

    def add(self, results: Results) -> None:
        """Counts the results of a batch, and logs what is missing."""
        found: Counter[tuple[str, str]] = Counter()
        messages: dict[tuple[str, str], str] = {}
        for result in results:
            if result.reward is not None:
                continue
            error = result.error
            code = "no_reward" if error is None else error.code
            reason = (str(result.outcome), code)
            found[reason] += 1
            if error is not None:
                messages.setdefault(reason, f": {error.message}")
        if not found and self._graded:
            return
        with self._lock:
            before = self._counts.copy()
            self._graded += len(results) - sum(found.values())
            self._counts += found
            missing = sum(self._counts.values())
            if not self._graded and not self._has_reported_run and _is_start(results, missing):
                self._has_reported_run = True
                reasons = "; ".join(
                    _reason(reason, self._counts[reason], messages.get(reason, ""))
                    for reason in self._counts
                )
                LOGGER.error(
                    "none of the first %d completions has a reward, so there is nothing to train "
                    "on: %s; `assay check` finds such rows before training",
                    missing,
                    reasons,
                )
                return
            for reason in found:
                count = self._counts[reason]
                if count.bit_length() > before[reason].bit_length():
                    LOGGER.warning(
                        "%d of %d completions so far have no reward, %s",
                        count,
                        missing + self._graded,
                        _reason(reason, None, messages.get(reason, "")),
                    )


def _is_start(results: Results, missing: int) -> bool:
    return len(results) > 1 or missing >= FIRST


def _reason(reason: tuple[str, str], count: int | None, message: str) -> str:
    outcome, code = reason
    return f"{'' if count is None else f'{count} '}{outcome}, `{code}`{message}"
