"""Generates the items of a run from its seed: every type of task, right and wrong, hostile and
malformed.

The text `@@` in an item is replaced each time it is sent, so that the service cannot answer from
its caches of programs and queries. No verdict depends on the replacement.
"""

import copy
import json
import random

MODEL = "scalar"
ORCHARD = "create table tree(id integer primary key, kind text not null, row integer not null, kilos real);"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "forecast",
            "parameters": {
                "type": "object",
                "required": ["town"],
                "additionalProperties": False,
                "properties": {
                    "town": {"type": "string"},
                    "days": {"type": "integer", "minimum": 1},
                },
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "deposit",
            "parameters": {
                "type": "object",
                "required": ["account", "amount"],
                "properties": {"account": {"type": "string"}, "amount": {"type": "number"}},
            },
        },
    },
]
TOWNS = ["Lund", "Vaasa", "Bergen", "Tartu", "Aarhus", "Visby"]
# Rewards under this policy depend only on the item.
POLICY = {
    "summary": "boxed and without repetition",
    "format": [{"part": "boxed", "factor": 0.5}],
    "repetition": {"ngrams": {"n": 4, "above": 0.2, "penalty": 0.2}},
}


class Item:
    """One item: what is sent, and its expected verdict or `ungradable`."""

    def __init__(self, key, body, verdict):
        self.key, self.verdict = key, verdict
        self.family = body["task"]["type"]
        self._text = json.dumps(body)

    def body(self, nonce, name):
        """The item as it is sent, under an id that ends in the item's key."""
        return {"id": f"{name}/{self.key}", **json.loads(self._text.replace("@@", nonce))}


def key_of(name):
    """The key of an item by the id under which it was sent."""
    return name.rsplit("/", 1)[-1]


def fenced(language, text):
    return f"Attempt @@.\n\n```{language}\n{text}\n```\n"


def math(rng):
    below = rng.choice([2, 4, 5, 8, 16])
    above = rng.randrange(1, 6 * below, 2 if below % 2 == 0 else 5)
    times, gold = rng.randrange(2, 9), f"{above}/{below}"
    right = rf"Attempt @@. So it is \boxed{{\frac{{{above * times}}}{{{below * times}}}}}."
    wrong = rf"Attempt @@. So it is \boxed{{\frac{{{above + 1}}}{{{below}}}}}."
    a, b = rng.randrange(2, 9), rng.randrange(2, 9)
    square, expanded = f"({a}x+{b})^2", rf"{a * a}x^2+{2 * a * b}x+{b * b}"
    numbers = rng.sample(range(2, 60), 4)
    shuffled = rng.sample(numbers, 4)
    joined = lambda values: ", ".join(map(str, values))
    task = {"type": "math", "answer": gold}
    boxed = {
        "checks": {"boxed": {"type": "math", "answer": gold, "extract": "boxed"}},
        "policy": POLICY,
    }
    return {
        "right": ({"completion": right, "task": task}, "correct"),
        "decimal": (
            {"completion": rf"Attempt @@. \boxed{{{above / below}}}", "task": task},
            "correct",
        ),
        "wrong": ({"completion": wrong, "task": task}, "wrong_answer"),
        "expanded": (
            {
                "completion": rf"Attempt @@. \boxed{{{expanded}}}",
                "task": {"type": "math", "answer": square},
            },
            "correct",
        ),
        "misexpanded": (
            {
                "completion": rf"Attempt @@. \boxed{{{expanded}+x}}",
                "task": {"type": "math", "answer": square},
            },
            "wrong_answer",
        ),
        "set": (
            {
                "completion": rf"Attempt @@. \boxed{{\{{{joined(shuffled)}\}}}}",
                "task": {"type": "math", "answer": rf"\{{{joined(numbers)}\}}"},
            },
            "correct",
        ),
        "reasoning": (
            {"completion": rf"<think>Attempt @@: \boxed{{{gold}}}</think>", "task": task},
            "no_answer",
        ),
        "tower": (
            {"completion": r"Attempt @@. \boxed{9^{9^{9^{9}}}}", "task": task},
            "wrong_answer",
        ),
        "goldless": ({"completion": right, "task": {"type": "math", "answer": ""}}, "ungradable"),
        "checked": ({"completion": right, "task": task, **boxed}, "correct"),
        "unboxed": (
            {
                "completion": f"Attempt @@. The answer is {above * times}/{below * times}.",
                "task": task,
                **boxed,
            },
            "correct",
        ),
        "in code too": (
            {
                "completion": right,
                "task": task,
                "checks": {
                    "program": {
                        "type": "code",
                        "language": "python",
                        "tests": [{"stdin": "", "stdout": "1"}],
                    }
                },
            },
            "correct",
        ),
    }


def code(rng):
    k, m = rng.randrange(2, 40), rng.randrange(2, 1000)
    inputs = rng.sample(range(1, 400), 3)
    f = lambda x: k * x * x + m
    body = f"tag = '@@'\n\n\ndef f(x):\n    return {k} * x * x + {m}\n"
    stdin = [{"stdin": f"{x}\n", "stdout": f"{f(x)}\n"} for x in inputs]
    calls = [{"call": "f", "args": [x], "returns": f(x)} for x in inputs]
    asserts = [{"assert": f"assert f({x}) == {f(x)}"} for x in inputs]
    reads = "\n\nif __name__ == '__main__':\n    print(f(int(input())))"
    off = f"tag = '@@'\n\n\ndef f(x):\n    return {k} * x * x + {m} + (x == {inputs[1]})\n"
    short = {"seconds": 0.1, "memory_mb": 128, "output_kb": 16}
    # Long enough to be running when a worker is struck.
    slow = f"tag = '@@'\n\n\ndef f(x):\n    total = 0\n    for i in range(300_000):\n        total += i % 7\n    return {k} * x * x + {m}\n"

    def task(tests, **options):
        return {"type": "code", "language": "python", "tests": tests, **options}

    def program(text):
        return fenced("python", text)

    return {
        "reads": ({"completion": program(body + reads), "task": task(stdin)}, "accepted"),
        "called": ({"completion": program(body), "task": task(calls)}, "accepted"),
        "asserted": ({"completion": program(body), "task": task(asserts)}, "accepted"),
        "mixed": (
            {
                "completion": program(body + reads),
                "task": task(stdin[:1] + calls[1:2] + asserts[2:]),
            },
            "accepted",
        ),
        "slow": ({"completion": program(slow), "task": task(calls)}, "accepted"),
        "slow reads": ({"completion": program(slow + reads), "task": task(stdin)}, "accepted"),
        "off by one": ({"completion": program(off), "task": task(calls)}, "wrong_answer"),
        "in part": ({"completion": program(off), "task": task(calls, score="fraction")}, "partial"),
        "loop": (
            {
                "completion": program("tag = '@@'\nwhile True:\n    pass"),
                "task": task(stdin, limits=short),
            },
            "time_limit",
        ),
        "sleep": (
            {
                "completion": program("import time\ntag = '@@'\ntime.sleep(1e6)"),
                "task": task(stdin, limits=short),
            },
            "time_limit",
        ),
        "bomb": (
            {
                "completion": program("tag = '@@'\nx = [0]\nwhile True:\n    x = x + x"),
                "task": task(stdin, limits={**short, "seconds": 2}),
            },
            "memory_limit",
        ),
        "flood": (
            {
                "completion": program("tag = '@@'\nwhile True:\n    print('x' * 4096)"),
                "task": task(stdin, limits={**short, "seconds": 2}),
            },
            "output_limit",
        ),
        "syntax": (
            {"completion": program("tag = '@@'\ndef f(x:\n    return x"), "task": task(calls)},
            "compile_error",
        ),
        "raises": (
            {
                "completion": program("tag = '@@'\n\n\ndef f(x):\n    return [][x]"),
                "task": task(calls),
            },
            "runtime_error",
        ),
        "recursion": (
            {
                "completion": program("tag = '@@'\n\n\ndef f(x):\n    return f(x) + 1"),
                "task": task(calls),
            },
            "runtime_error",
        ),
        "early exit": (
            {"completion": program("import os\ntag = '@@'\nos._exit(0)"), "task": task(calls)},
            "wrong_answer",
        ),
        "no program": (
            {"completion": "Attempt @@: I would rather not write one.", "task": task(calls)},
            "no_code",
        ),
        "reference": (
            {"completion": program(body), "task": task(calls, reference=body.replace("@@", "r"))},
            "accepted",
        ),
        "bad reference": (
            {
                "completion": program(body),
                "task": task(calls, reference="def f(x):\n    return '@@'\n"),
            },
            "ungradable",
        ),
    }


def sql(rng):
    kinds = ["apple", "pear", "plum"]
    trees = [
        (n + 1, rng.choice(kinds), rng.randrange(1, 5), rng.randrange(10, 90) / 2)
        for n in range(12)
    ]
    # Every kind occurs, so that no query returns nothing.
    trees += [(13 + n, kind, 5, 20.5) for n, kind in enumerate(kinds)]
    rows = "insert into tree values " + ", ".join(
        f"({n}, '{kind}', {row}, {kilos})" for n, kind, row, kilos in trees
    )
    gold = "select kind, sum(kilos) from tree group by kind"
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select kind, max(i) from tree, n group by kind"

    def task(marked=False, **options):
        schema = ORCHARD + (
            " create table mark(word text); insert into mark values ('@@');" if marked else ""
        )
        database = {"schema": schema, "rows": rows, **options.pop("database", {})}
        return {"type": "sql", "dialect": "sqlite", "database": database, "gold": gold, **options}

    def query(text):
        return fenced("sql", f"{text} /* @@ */")

    right = query("SELECT kind, TOTAL(kilos) FROM tree GROUP BY 1")
    wrong = query("SELECT kind, MAX(kilos) FROM tree GROUP BY 1")
    return {
        "right": ({"completion": right, "task": task()}, "correct"),
        "right, fresh": ({"completion": right, "task": task(marked=True)}, "correct"),
        "right, varied": (
            {"completion": query(gold), "task": task(database={"variants": {"generate": 3}})},
            "correct",
        ),
        "wrong": ({"completion": wrong, "task": task()}, "wrong_answer"),
        "wrong, fresh": ({"completion": wrong, "task": task(marked=True)}, "wrong_answer"),
        "in part": (
            {"completion": wrong, "task": task(partial={"syntax": 0.1, "executes": 0.2})},
            "partial",
        ),
        "no column": (
            {
                "completion": query("SELECT kind, SUM(kilograms) FROM tree GROUP BY 1"),
                "task": task(),
            },
            "sql_error",
        ),
        "no syntax": ({"completion": query("SELECT FROM WHERE"), "task": task()}, "sql_error"),
        "deletes": ({"completion": query("DELETE FROM tree"), "task": task()}, "denied"),
        "attaches": ({"completion": query("ATTACH 'other.db' AS other"), "task": task()}, "denied"),
        "explains": ({"completion": query("EXPLAIN " + gold), "task": task()}, "not_a_query"),
        "two": ({"completion": query(gold + "; " + gold), "task": task()}, "several_statements"),
        "endless": (
            {"completion": query(endless), "task": task(limits={"work": 200_000})},
            "step_limit",
        ),
        "wide": (
            {
                "completion": query("SELECT a.kind, b.kilos FROM tree a, tree b, tree c"),
                "task": task(limits={"rows": 50}),
            },
            "row_limit",
        ),
        "bad gold": (
            {"completion": right, "task": {**task(marked=True), "gold": "select weight from tree"}},
            "ungradable",
        ),
        "bad schema": (
            {
                "completion": right,
                "task": {**task(), "database": {"schema": "create tabel tree_@@(id)"}},
            },
            "ungradable",
        ),
    }


def tools(rng):
    town, days, amount = rng.choice(TOWNS), rng.randrange(1, 9), rng.randrange(1, 900)
    call = lambda name, **arguments: json.dumps({"name": name, "arguments": arguments})
    hermes = lambda *calls: (
        "Attempt @@.\n" + "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls)
    )
    one = {
        "type": "tools",
        "tools": TOOLS,
        "expected": [{"name": "forecast", "arguments": {"town": town, "days": days}}],
    }
    two = {
        **one,
        "expected": one["expected"]
        + [{"name": "deposit", "arguments": {"account": "a", "amount": amount}}],
    }
    state = {
        "type": "tools",
        "tools": TOOLS,
        "expected": [{"name": "deposit", "arguments": {"account": "a", "amount": amount}}],
        "state": {
            "initial": {"accounts": {"a": 10, "b": 5}},
            "effects": {
                "forecast": [],
                "deposit": [{"op": "increase", "path": "/accounts/{account}", "by": "{amount}"}],
            },
        },
    }
    right, deposit = (
        call("forecast", town=town, days=days),
        call("deposit", account="a", amount=amount),
    )
    return {
        "right": ({"completion": hermes(right), "task": one}, "correct"),
        "both": ({"completion": hermes(deposit, right), "task": two}, "correct"),
        "half": ({"completion": hermes(right), "task": {**two, "mode": "fraction"}}, "partial"),
        "wrong day": (
            {"completion": hermes(call("forecast", town=town, days=days + 1)), "task": one},
            "wrong_call",
        ),
        "against schema": (
            {"completion": hermes(call("forecast", town=town, days=0)), "task": one},
            "wrong_call",
        ),
        "broken": ({"completion": hermes(right[:-1]), "task": one}, "malformed_call"),
        "none": ({"completion": "Attempt @@: it will rain.", "task": one}, "no_call"),
        "abstains": (
            {"completion": "Attempt @@: it will rain.", "task": {**one, "expected": []}},
            "correct",
        ),
        "state": ({"completion": hermes(deposit), "task": state}, "correct"),
        "other state": (
            {"completion": hermes(call("deposit", account="b", amount=amount)), "task": state},
            "wrong_state",
        ),
        "bad task": (
            {
                "completion": hermes(right),
                "task": {**one, "expected": [{"name": "forecast", "arguments": {}}]},
            },
            "ungradable",
        ),
    }


def structured(rng):
    value = {
        "town": rng.choice(TOWNS),
        "minutes": rng.randrange(1, 500),
        "stops": rng.sample(TOWNS, 3),
    }
    schema = {
        "type": "object",
        "required": ["town", "minutes"],
        "additionalProperties": False,
        "properties": {
            "town": {"type": "string"},
            "minutes": {"type": "integer", "minimum": 1},
            "stops": {"type": "array", "items": {"type": "string"}},
        },
    }
    task = {"type": "structured", "schema": schema, "expected": value}
    text = json.dumps(value, indent=1)
    reverse = {**value, "stops": value["stops"][::-1]}
    yaml = f"town: {value['town']}\nminutes: {value['minutes']}\nstops:\n" + "".join(
        f"  - {stop}\n" for stop in value["stops"]
    )
    return {
        "right": ({"completion": fenced("json", text), "task": task}, "correct"),
        "yaml": (
            {"completion": fenced("yaml", yaml), "task": {**task, "format": "yaml"}},
            "correct",
        ),
        "bag": (
            {
                "completion": fenced("json", json.dumps(reverse)),
                "task": {**task, "arrays": "unordered"},
            },
            "correct",
        ),
        "other order": (
            {"completion": fenced("json", json.dumps(reverse)), "task": task},
            "wrong_value",
        ),
        "cut off": ({"completion": "Attempt @@.\n" + text[:-3], "task": task}, "malformed"),
        "trailing comma": (
            {"completion": fenced("json", text[:-2] + ",\n}"), "task": task},
            "malformed",
        ),
        "bare word": ({"completion": fenced("json", '{"town": Lund}'), "task": task}, "malformed"),
        "against schema": (
            {"completion": fenced("json", json.dumps({**value, "minutes": "ten"})), "task": task},
            "invalid",
        ),
        "in part": (
            {
                "completion": fenced("json", json.dumps({**value, "minutes": 501})),
                "task": {**task, "mode": "partial"},
            },
            "partial",
        ),
        "bad schema": (
            {
                "completion": fenced("json", text),
                "task": {"type": "structured", "schema": {"type": "objekt"}},
            },
            "ungradable",
        ),
    }


def reward_model(rng):
    prompt = f"What is {rng.randrange(2, 99)} times {rng.randrange(2, 99)}?"
    completion = f"It is {rng.randrange(4, 9801)}, as {rng.choice(TOWNS)} knows."
    ask = lambda said, **options: {
        "prompt": prompt,
        "completion": said,
        "task": {"type": "reward_model", **options},
    }
    return {
        "scored": (ask(completion), "scored"),
        "named": (ask(completion[::-1], model=MODEL), "scored"),
        "passes": (ask(completion, threshold=0), "correct"),
        "fails": (ask(completion, threshold=1), "wrong_answer"),
        "blank": (ask(" \n"), "no_answer"),
        "too long": (ask("seven times six " * 300), "too_long"),
    }


FAMILIES = {
    "math": math,
    "code": code,
    "sql": sql,
    "tools": tools,
    "structured": structured,
    "reward_model": reward_model,
}
# How many sets of each family are generated, each with other numbers.
SETS = {"math": 8, "code": 5, "sql": 5, "tools": 6, "structured": 6, "reward_model": 6}


def make(seed):
    """All items of a seed, by key."""
    made = {}
    for family, maker in FAMILIES.items():
        rng = random.Random(f"{seed} {family}")
        for number in range(SETS[family]):
            for name, (body, verdict) in maker(rng).items():
                key = f"{family}-{number}-{name.replace(',', '').replace(' ', '_')}"
                made[key] = Item(key, copy.deepcopy(body), verdict)
    return made
