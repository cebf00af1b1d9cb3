"""The replies to clients: compared with the quiet run on arrival, and kept for the comparison with
the record.
"""

import collections
import threading
import time

from items import key_of

MOST_EXAMPLES = 10


def expectation(result):
    """The fields of a result that must not change between rounds."""
    return {
        "outcome": result["outcome"],
        "verdict": result["verdict"],
        "pass": result["pass"],
        "score": result["score"],
        "reward": result["reward"],
        "code": (result["error"] or {}).get("code"),
        "components": components(result),
    }


def components(result):
    return {
        part["name"]: (part["outcome"], part["verdict"], part["score"])
        for part in result["components"]
    }


def difference(expected, result, any_reward):
    """How a graded or ungradable result differs from the quiet run, or None."""
    now = expectation(result)
    failed_parts = {name for name, part in now["components"].items() if part[0] == "failed"}
    for name, part in now["components"].items():
        if name not in failed_parts and part != expected["components"].get(name):
            return f"component `{name}`: {part} instead of {expected['components'].get(name)}"
        if name in failed_parts and part[2] is not None:
            return f"component `{name}` failed with a score of {part[2]}"
    for field in ("outcome", "verdict", "pass", "score", "code"):
        if now[field] != expected[field]:
            return f"{field}: {now[field]} instead of {expected[field]}"
    # There is no reward if a part has failed, and judges may change it.
    if (
        not any_reward
        and now["reward"] != expected["reward"]
        and not (failed_parts and now["reward"] is None)
    ):
        return f"reward: {now['reward']} instead of {expected['reward']}"
    return None


def failure(result):
    """What is wrong with a failed result, or None."""
    numbers = {
        name: result[name]
        for name in ("score", "reward", "advantage", "pass")
        if result[name] is not None
    }
    if numbers:
        return f"failed with {numbers}"
    if not (result["error"] or {}).get("retryable"):
        return f"failed, but not retryable: {result['error']}"
    return None


class Examples:
    """Counts problems and keeps the first ones."""

    def __init__(self):
        self.count, self.kept = 0, []

    def add(self, text):
        self.count += 1
        if len(self.kept) < MOST_EXAMPLES:
            self.kept.append(text)

    def __str__(self):
        return "".join(f"\n       {text}" for text in self.kept) + (
            "\n       …" if self.count > len(self.kept) else ""
        )


class Ledger:
    """All replies to clients. Safe to share between threads."""

    def __init__(self):
        self._lock = threading.Lock()
        self.expected = {}
        self.answers = {}
        # By the id of the grade: item, outcome, verdict and score of each result with `recorded:
        # true`.
        self.acknowledged = {}
        self.wrong, self.bad_failures, self.contradictions = Examples(), Examples(), Examples()
        # Results with `deterministic: false`: with the verdict of the quiet run, and with another.
        self.undetermined, self.disagreeing = Examples(), Examples()
        self.unexpected, self.unanswered, self.repeated = Examples(), Examples(), Examples()
        self.counts, self.retries, self.failed, self.requests = (
            collections.Counter() for _ in range(4)
        )
        self.longest = 0.0

    def learn(self, results):
        """Takes results as those of the quiet run."""
        self.expected = {key_of(result["id"]): expectation(result) for result in results}

    def told(self, result, any_reward=False):
        """Takes one result; returns whether its item must be sent again."""
        name, outcome = result["id"], result["outcome"]
        with self._lock:
            self.counts["results"] += 1
            self.counts["recorded" if result["recorded"] else "not recorded"] += 1
            if result["recorded"]:
                said = (name, outcome, result["verdict"], result["score"])
                before = self.acknowledged.setdefault(result["grade"], said)
                if before != said:
                    self.contradictions.add(f"grade {result['grade']}: {said}, and {before} before")
            if outcome == "failed":
                self.failed[(result["error"] or {}).get("code")] += 1
                problem = failure(result)
                if problem:
                    self.bad_failures.add(f"{name}: {problem}")
                return True
            problem = difference(self.expected[key_of(name)], result, any_reward)
            if problem:
                self.wrong.add(
                    f"{name}: {problem} ({result['error'] or brief(result['evidence'])})"
                )
            if not result["deterministic"] and not result["grader"].startswith("reward_model"):
                (self.disagreeing if problem else self.undetermined).add(
                    f"{name}: {problem or result['verdict']}"
                )
            return any(part["outcome"] == "failed" for part in result["components"])

    def answered(self, name, answer):
        """Takes the answer to a call."""
        with self._lock:
            if answer is not None and answer != self.answers.setdefault(name, answer):
                self.wrong.add(f"{name}: {brief(answer)} instead of {brief(self.answers[name])}")

    def request(self, kind, began):
        with self._lock:
            self.requests[kind] += 1
            self.longest = max(self.longest, time.monotonic() - began)

    def retry(self, reason):
        with self._lock:
            self.retries[reason] += 1

    def count(self, what, number=1):
        with self._lock:
            self.counts[what] += number

    def note(self, examples, text):
        with self._lock:
            examples.add(text)


def brief(value):
    text = str(value)
    return text if len(text) < 200 else text[:200] + "…"
