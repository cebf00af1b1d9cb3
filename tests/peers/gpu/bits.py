"""Scores of a sequence alone, in batches, in another order, after a reload and after a restart:
equal to the last bit.
"""

import json
import pathlib
import random

from cases import CASES
from written_cases import write_model

MODEL = "qwen3"
VOCABULARY = 320

# Rows of products that must keep the bits.
PRODUCT_ROWS = (256, 1024, 4096)


def sequences(small):
    """Groups that share a prompt, and sequences of their own; all with different tokens."""
    draw = random.Random(0)

    def tokens(count):
        return [draw.randrange(20, VOCABULARY) for _ in range(count)]

    groups = [(tokens(300), [tokens(draw.randrange(1, 100)) for _ in range(8)]) for _ in range(3)]
    shared = [prompt + completion for prompt, completions in groups for completion in completions]
    lengths = [1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 400]
    return shared + [tokens(length) for length in (lengths[:6] if small else lengths * 3)]


def scores(service, texts):
    return [result["raw"] for result in service.score("bits", [{"ids": ids} for ids in texts])]


def write_case(options, folder):
    """Writes the model."""
    committed = json.loads((pathlib.Path(options.reference) / "cases.json").read_text())["cases"]
    case = next(case for case in CASES if case["name"] == MODEL)
    stored = next(case for case in committed if case["name"] == MODEL)
    (folder / MODEL).mkdir()
    write_model(case | stored, folder / MODEL)


def ways_in_batches(service, texts):
    """Scores of a loaded model for all texts at once, and the same scores in other batches."""
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    together = scores(service, texts)
    ways = {
        "alone": [scores(service, [text])[0] for text in texts],
        "again": scores(service, texts),
    }
    shuffled = scores(service, [texts[at] for at in order])
    ways["in another order"] = [shuffled[order.index(at)] for at in range(len(texts))]
    return together, ways


def differences(together, ways):
    """The number of scores that differ, by the way in which they do."""
    return {
        way: sum(one != other for one, other in zip(together, found, strict=True))
        for way, found in ways.items()
    }


def run(options, folder, report, deadline):
    """One row for each data type and number of rows of a product."""
    write_case(options, folder)
    texts = sequences(options.small)
    for dtype, rows in [("bf16", rows) for rows in PRODUCT_ROWS] + [("f32", PRODUCT_ROWS[0])]:
        if deadline.is_over():
            report.problem(f"{dtype} with {rows} rows: out of time")
            break
        with options.start(product_rows=rows) as service:
            service.load("bits", MODEL, dtype=dtype)
            together, ways = ways_in_batches(service, texts)
            service.unload("bits")
            service.load("bits", MODEL, dtype=dtype)
            ways["after a reload"] = scores(service, texts)
        with options.start(product_rows=rows) as service:
            service.load("bits", MODEL, dtype=dtype)
            ways["after a restart"] = scores(service, texts)
        counts = differences(together, ways)
        report.row(
            {
                "type": dtype,
                "rows of a product": rows,
                "sequences": len(texts),
                "ways": ", ".join(counts),
                "different scores": len(set(together)),
            }
        )
        for way, differ in counts.items():
            if differ:
                report.problem(
                    f"{dtype}, {rows} rows: {differ} of {len(texts)} scores differ {way}"
                )
