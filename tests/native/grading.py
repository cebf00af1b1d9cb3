"""Grades items with the binary and reads what it says about each."""

import json
import pathlib
import subprocess
import tempfile

# Items of one run of the binary: many, so that starting it costs little, but few enough to find the
# one that makes a run fail.
BATCH = 400

LIMITS = {"seconds": 10, "memory_mb": 512}


class Unusable(Exception):
    """The binary returned no results."""


def code_task(tests, **fields):
    """A task of the code grader; fields that are empty are left out."""
    kept = {name: value for name, value in fields.items() if value}
    return {"type": "code", "language": "python", "tests": tests, "limits": LIMITS, **kept}


def item(key, program, task):
    return {"id": key, "task": task, "completion": f"```python\n{program}\n```\n"}


# Attempts to grade an item after a retryable error: a busy machine can lack memory or processes for
# a moment.
ATTEMPTS = 3


def grade(binary, items):
    """Results by the id of their item. Every item has one, or `Unusable` is raised."""
    found, left = {}, items
    for _ in range(ATTEMPTS):
        for first in range(0, len(left), BATCH):
            found.update(_batch(binary, left[first : first + BATCH]))
        left = [
            entry
            for entry in left
            if ((found.get(entry["id"]) or {}).get("error") or {}).get("retryable")
        ]
    missing = [entry["id"] for entry in items if entry["id"] not in found]
    if missing or len(found) != len(items):
        raise Unusable(f"{len(items)} items and {len(found)} results; without one: {missing[:5]}")
    return found


def _batch(binary, items):
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = pathlib.Path(folder, "items.jsonl"), pathlib.Path(folder, "results.jsonl")
        asked.write_text("".join(json.dumps(entry) + "\n" for entry in items), encoding="utf-8")
        # The temporary folder is the working directory, so that no local configuration file changes
        # a verdict.
        command = [str(pathlib.Path(binary).resolve()), "grade", str(asked), "-o", str(answered)]
        ended = subprocess.run(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if ended.returncode != 0:
            raise Unusable(ended.stderr.decode(errors="replace")[-2000:])
        lines = answered.read_text(encoding="utf-8").splitlines()
    return {result["id"]: result for result in map(json.loads, lines)}


def word(result):
    """A result as one word: its verdict, or its outcome if it has none."""
    return result["verdict"] or result["outcome"]


def reason(result, width=160):
    """Why a result is what it is, on one line."""
    if result.get("error"):
        text = result["error"]["message"]
    else:
        evidence = result.get("evidence") or {}
        failure = evidence.get("first_failure") or {}
        parts = [failure.get(name) for name in ("message", "difference", "got", "stderr", "stdout")]
        text = next((str(part) for part in parts if part), json.dumps(failure))
        text = text.strip().rpartition("\n")[2] if 'File "' in text else text
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."
