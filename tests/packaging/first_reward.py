#!/usr/bin/env python3
"""The first reward after `pip install`: grades a program and an answer, and prints the rewards
and the seconds since the interpreter started, as JSON.
"""

import json
import time

STARTED = time.monotonic()

import assay  # noqa: E402, the import is part of the time

PROGRAM = {
    "completion": "```python\nprint(sum(map(int, input().split())))\n```",
    "task": {"type": "code", "language": "python", "tests": [{"stdin": "1 2", "stdout": "3"}]},
}
ANSWER = {"completion": "It is \\boxed{0.34}.", "task": {"type": "math", "answer": "1/3"}}

results = assay.grade([PROGRAM, ANSWER])
print(json.dumps({"rewards": results.rewards(), "seconds": time.monotonic() - STARTED}))
