"""Hostile texts and golds for `text`."""

from inputs import draw, graded

PATTERNS = [
    "(a+)+$", "(a|aa)*b", "\\w{{{n}}}b", "(\\w{{1,{n}}}\\s){{20}}x", "((a{{0,9}}){{0,9}}){{0,9}}b",
    "\\p{{L}}{{{n}}}\\p{{N}}{{{n}}}", "(?i)straße{{{n}}}", "(x+x+)+y", ".*.*.*.*.*=.*", "[^\\x00]{{{n}}}",
    "(?:(?:a?){{9}}){{9}}a", "(a{{{n}}}){{{n}}}", "(?s).{{{n}}}", "(", "\\w{{999999}}", "(?R)", "(a)\\1",
    "(?<=a)b", "{alternatives}",
]  # fmt: skip
UNITS = [
    "a", "aa b ", "é", "e\u0301", "\u0301", "ﷺ", "İ", "ß", "\u202e", "😀", "\0", "\ufeff", "<think>",
    "</think>", "\\boxed{", "\\boxed{a}", "The answer is ", "answer: a\n", "**a**", "$a$", " a", "\na",
    "not a but ", "(A) ", ".", "!?",
]  # fmt: skip


def pattern(rng):
    n = rng.choice([3, 10, 60])
    shape = rng.choice(PATTERNS)
    gold = shape.format(n=n, alternatives="|".join(f"\\w{{9}}{i}" for i in range(n)))
    text = rng.choice(["a", "ab ", "é", "x"]) * rng.choice([100, 20_000, 400_000])
    task = {"type": "text", "match": "pattern", "answer": gold}
    return graded(f"pattern {gold[:30]} on {len(text)}", task, text)


def patterns(rng):
    count, size = rng.choice([8, 32]), rng.choice([2, 9, 30])
    golds = [f"(\\w{{{size}}}|\\d+){i}$" for i in range(count)]
    task = {
        "type": "text",
        "match": "pattern",
        "answer": golds,
        "require": rng.choice(["any", "all"]),
    }
    return graded(f"{count} patterns of {size}", task, "ab1 " * rng.choice([100, 100_000]))


def reject(rng):
    match = rng.choice(["pattern", "contains", "normalised"])
    golds = [f"a{{{i + 1}}}b" for i in range(64)]
    task = {"type": "text", "match": match, "answer": "b", "reject": golds}
    return graded(f"64 rejected texts by {match}", task, "a" * 300_000)


def units(rng):
    unit, size = rng.choice(UNITS), rng.choice([10_000, 900_000])
    match = rng.choice(["exact", "normalised", "contains"])
    task = {
        "type": "text",
        "match": match,
        "answer": unit * 20,
        "extract": rng.choice(["whole", "auto"]),
    }
    return graded(f"{unit!r} to {size} bytes, {match}", task, unit * (size // len(unit.encode())))


def golds(rng):
    size = rng.choice([1000, 60_000])
    made = ["a" * size + str(i) for i in range(64)]
    task = {"type": "text", "match": rng.choice(["contains", "normalised"]), "answer": made}
    return graded(f"64 golds of {size} bytes", task, "a" * 900_000)


def expanding(rng):
    unit = rng.choice(["ﷺ", "㎑", "ﬃ", "𝔸", "\u1e9b\u0323", "각"])
    size = rng.choice([1000, 300_000])
    task = {"type": "text", "match": "normalised", "answer": unit * 1000}
    return graded(f"{size} times {unit!r}", task, unit * size)


def marks(rng):
    size = rng.choice([1000, 400_000])
    task = {"type": "text", "match": "normalised", "answer": "a"}
    text = "a" + "".join(rng.choice(["\u0301", "\u0316", "\u0334"]) for _ in range(size))
    return graded(f"{size} marks on a letter", task, text)


def words(rng):
    size = rng.choice([1000, 450_000])
    task = {"type": "text", "match": "contains", "answer": "zz", "words": {"min": 1, "max": size}}
    return graded(f"{size} words", task, "a " * size)


def messages(rng):
    count = rng.choice([100, 20_000])
    made = [{"role": "assistant", "content": f"<think>{i}</think>a"} for i in range(count)]
    return graded(f"{count} messages", {"type": "text", "answer": "a"}, made)


SHAPES = [
    pattern, pattern, pattern, pattern, pattern, patterns, patterns, reject, units, units, units,
    golds, expanding, marks, words, messages,
]  # fmt: skip


def make(rng, count):
    return draw(SHAPES, rng, count)
