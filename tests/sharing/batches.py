"""Hostile batches: many checks, groups and channels, policies with judges, nested bodies."""

from inputs import Input, draw

STATISTICS = [
    "p_hat",
    "passk",
    "informative",
    "answers",
    "curriculum",
    "grpo",
    "rloo",
    "max_rl",
    "opo",
]
POLICIES = {
    "ttrl": {"consensus": {"ttrl": {}}},
    "rlccf": {"consensus": {"rlccf": {}}},
    "diversity": {"diversity": {"lambda": 0.5}},
    "rank": {"shape": {"rank": {}}},
    "n-grams": {"repetition": {"ngrams": {"n": 4, "penalty": 0.5, "above": 0.1}}},
    "best and worst": {"filter": {"best_worst": {}}},
    "weights": {"weights": {"inverse_probability": {"by": ["length", "truncated", "group"]}}},
    "length": {"length": {"grpo_lambda": {"alpha": 0.5, "share": 0.5}}},
}  # fmt: skip
MATH = {"type": "math", "answer": "2"}
NO_GOLD = {"type": "math", "consensus": True}


def batch(name, items, **fields):
    return Input(name, {"fields": ["verdict", "outcome", "error"], "items": items, **fields})


def answer(index, group="g"):
    meta = {"tokens": index % 5000 + 1, "model": f"m{index % 7}"}
    return {"group": group, "completion": f"\\boxed{{{index}}}", "task": MATH, "meta": meta}


def checks(rng):
    count, items = rng.choice([(256, 1), (256, 60), (10, 2000)])
    made = {f"c{i}": {"type": "math", "answer": f"x^{{{i}}} + 1"} for i in range(count)}
    return batch(
        f"{items} items with {count} checks",
        [{"completion": "\\boxed{x}", "task": MATH, "checks": made}] * items,
    )


def large_checks(rng):
    golds = [f"\\w{{10}}x{i}" for i in range(64)]
    made = {
        f"c{i}": {"type": "text", "match": "pattern", "answer": [f"{gold}y{i}" for gold in golds]}
        for i in range(rng.choice([4, 32]))
    }
    return batch(
        f"{len(made)} checks of 64 patterns", [{"completion": "x", "task": MATH, "checks": made}]
    )


def groups(rng):
    count = rng.choice([500, 20_000])
    return batch(
        f"{count} groups", [answer(i, f"g{i}") for i in range(count)], statistics=STATISTICS
    )


def one_group(rng):
    count = rng.choice([500, 8000])
    return batch(f"group of {count}", [answer(i) for i in range(count)], statistics=STATISTICS)


def policy(rng):
    name, count = rng.choice(sorted(POLICIES)), rng.choice([500, 8000])
    task = NO_GOLD if "consensus" in POLICIES[name] else MATH
    items = [answer(i) | {"task": task} for i in range(count)]
    return batch(f"policy {name} for {count}", items, policy=POLICIES[name])


def expressions(rng):
    count = rng.choice([200, 1500])
    items = [
        answer(i)
        | {"completion": f"\\boxed{{x^{i % 97} + y^{{{i}}}\\sqrt{{{i}}}}}", "task": NO_GOLD}
        for i in range(count)
    ]
    return batch(f"consensus of {count} expressions", items, policy=POLICIES["ttrl"])


def n_grams(rng):
    count, size = rng.choice([(5, 900_000), (40, 400_000)])
    items = [
        {"completion": f"ab{i} " * (size // 5), "task": {"type": "text", "answer": "2"}}
        for i in range(count)
    ]
    return batch(f"n-grams of {count} texts of {size} bytes", items, policy=POLICIES["n-grams"])


def judges(rng):
    size, count = rng.choice([(1_000_000, 20), (20_000, 500), (100, 5000)])
    judge = {
        "type": "text",
        "match": "contains",
        "answer": "{{ completion }}",
        "reject": ["{{ task.answer }}"],
    }
    if size > 60_000:
        # A gold may have at most 64 KiB; the task of this judge is rejected when it is rendered.
        judge = {
            "type": "structured",
            "expected": ["{{ completion }}", "{{ completion }}", "{{ task }}"],
        }
    rules = [{"judge": judge, "negatives": 1.0, "positives": 1.0}]
    items = [
        {"completion": f"{i} " + "x" * size, "task": {"type": "text", "answer": "y"}}
        for i in range(count)
    ]
    return batch(f"judges of {count} texts of {size} bytes", items, policy={"appeals": rules})


def judges_of_tasks(rng):
    count = rng.choice([5, 30])
    schema = {"enum": [f"value {i}" for i in range(50_000)]}
    judge = {"type": "structured", "schema": "{{ task.schema }}", "expected": "{{ task.schema }}"}
    rules = [{"judge": judge, "negatives": 1.0, "positives": 1.0}]
    items = [
        {"completion": f'"{i}"', "task": {"type": "structured", "schema": schema}}
        for i in range(count)
    ]
    return batch(f"judges of {count} large tasks", items, policy={"appeals": rules})


def tasks(rng):
    count, size = rng.choice([(20, 1_000_000), (2000, 10_000)])
    items = [
        {"completion": "x", "task": {"type": "structured", "expected": f"{i}" + "x" * size}}
        for i in range(count)
    ]
    return batch(f"{count} tasks of {size} bytes", items)


def schemas(rng):
    count, patterns = rng.choice([(10, 2000), (200, 100)])
    items = [
        {
            "completion": "{}",
            "task": {
                "type": "structured",
                "schema": {
                    "patternProperties": {f"\\w{{30}}x{k}x{i}": {} for i in range(patterns)}
                },
            },
        }
        for k in range(count)
    ]
    return batch(f"{count} schemas of {patterns} patterns", items)


def channels(rng):
    count = rng.choice([200, 256, 5000])
    items = [answer(i) | {"channel": f"c{i}" + "x" * 500} for i in range(count)]
    return batch(f"{count} channels", items)


def metadata(rng):
    depth = rng.choice([50, 90])
    value = 1
    for _ in range(depth):
        value = [value, {"a": value}] if rng.random() < 0.06 else [value]
    return batch(f"metadata of depth {depth}", [answer(0) | {"meta": {"x": value}}] * 20)


def templates(rng):
    count = rng.choice([100, 3000])
    row = {"answer": "#### 42", "question": "x" * 5000}
    items = [
        {"completion": "42", "task": {"template": "gsm8k", "row": {**row, "salt": i}}}
        for i in range(count)
    ]
    return batch(f"{count} rows of a template", items)


def suggestions(rng):
    keys = [f"key{i}" for i in range(rng.choice([1000, 100_000]))]
    body = {
        "run": "r",
        "keys": keys,
        "count": len(keys) // 2,
        "strategy": rng.choice(["mopps", "sec", "dump", "filter"]),
    }
    return Input(f"suggestions from {len(keys)} keys", body, "/v1/prompts/suggest")


SHAPES = [
    checks, large_checks, groups, one_group, policy, policy, policy, expressions, n_grams, judges,
    judges, judges_of_tasks, tasks, schemas, channels, metadata, templates, suggestions,
]  # fmt: skip


def make(rng, count):
    return draw(SHAPES, rng, count)
