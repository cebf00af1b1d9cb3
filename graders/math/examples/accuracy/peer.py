"""Grades labelled rows with Math-Verify: prints its version, then for each row of standard input whether it agrees.

`true`, `false`, or `none` for rows with options, which Math-Verify does not have; then the CPU time
in seconds. `make accuracy` runs this file.
"""

import importlib.metadata
import json
import logging
import sys
import time

from math_verify import parse, verify

logging.disable(logging.CRITICAL)


def equal(gold, completion):
    # As its documentation says, golds are marked as mathematics.
    return verify(parse(f"\\boxed{{{gold}}}"), parse(completion))


def agrees(row):
    if row["options"] or not isinstance(row["expected"], bool):
        return "none"
    golds = row["gold"] if isinstance(row["gold"], list) else [row["gold"]]
    found = any(equal(gold, row["completion"]) for gold in golds)
    return "true" if found == row["expected"] else "false"


rows = [json.loads(line) for line in sys.stdin]
print("Math-Verify", importlib.metadata.version("math-verify"))
for row in rows[:100]:  # imports and caches
    agrees(row)
for row in rows:
    start = time.process_time()
    agreed = agrees(row)
    print(agreed, time.process_time() - start, flush=True)
