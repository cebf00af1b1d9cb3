"""Writes seeds for both fuzz targets, made from the golden cases, into `corpus/`."""

import hashlib
import json
import pathlib

here = pathlib.Path(__file__).parent
cases = here.parents[2] / "tests/cases/math.jsonl"
LONGEST = 400  # bytes; longer cases are worst cases and slow every mutation down


def keep(target, text):
    seed = text.encode()
    if 0 < len(seed) <= LONGEST:
        folder = here / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


for line in cases.read_text().splitlines():
    case = json.loads(line)
    golds = case["task"]["answer"]
    answer = case["completion"].replace("\n", " ")
    if answer.startswith("\\boxed{") and answer.endswith("}"):
        answer = answer[len("\\boxed{") : -1]
    keep("read", answer)
    for gold in [golds] if isinstance(golds, str) else golds:
        gold = gold.replace("\n", " ")
        keep("read", gold)
        keep("decide", f"{gold}\n{answer}")
