"""Times Math-Verify on the pairs of the benchmark: `pip install math-verify[antlr4_13_2]`, then run this file."""

import json
import pathlib
import time

from math_verify import parse, verify

lines = (pathlib.Path(__file__).parent / "pairs.jsonl").read_text().splitlines()
pairs = [json.loads(line) for line in lines]


def compare(pair):
    return verify(parse(f"${pair['gold']}$"), parse(f"${pair['answer']}$"))


for pair in pairs:  # imports and caches
    compare(pair)
start = time.process_time()
equal = sum(compare(pair) for pair in pairs)
seconds = time.process_time() - start
print(f"{len(pairs)} pairs, {equal} equal, {len(pairs) / seconds:.0f} pairs per CPU second")
