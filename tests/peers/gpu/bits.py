"""Scores of a sequence alone, in batches, in another order, after a reload and after a restart:
equal to the last bit.
"""

import random

MODEL = "qwen3"
VOCABULARY = 320


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


def run(options, start, folder, deadline):
    """One row for each data type, and what differed. `start` starts a service."""
    texts = sequences(options.small)
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    rows, problems = [], []
    for dtype in ("f32", "bf16"):
        with start() as service:
            service.load("bits", MODEL, dtype=dtype)
            together = scores(service, texts)
            ways = {
                "alone": [scores(service, [text])[0] for text in texts],
                "again": scores(service, texts),
            }
            shuffled = scores(service, [texts[at] for at in order])
            ways["in another order"] = [shuffled[order.index(at)] for at in range(len(texts))]
            service.unload("bits")
            service.load("bits", MODEL, dtype=dtype)
            ways["after a reload"] = scores(service, texts)
        with start() as service:
            service.load("bits", MODEL, dtype=dtype)
            ways["after a restart"] = scores(service, texts)
        for way, found in ways.items():
            differ = sum(one != other for one, other in zip(together, found))
            if differ:
                problems.append(f"{dtype}: {differ} of {len(texts)} scores differ {way}")
        rows.append(
            {
                "type": dtype,
                "sequences": len(texts),
                "ways": ", ".join(ways),
                "different scores": len(set(together)),
            }
        )
        if deadline.is_over():
            break
    return rows, problems
