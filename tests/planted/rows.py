"""Clean rows in the shapes of usual datasets, drawn with a seed. Each row has another question."""

NAMES = "Ada Ben Cleo Dan Edda Finn Gina Hugo Ines Jack Kira Liam Mona Nils Olga Paul".split()
THINGS = "apples bolts cards drums eggs flags grapes hooks jars kites lamps maps nails oars pens".split()
PLACES = "market garden school harbour library station workshop museum theatre bakery".split()

STORIES = [
    ("{a} buys {x} boxes of {t} at the {p}, and each box contains {y} of them. Later {b} brings {z} "
     "more {t}. How many {t} do they have together?", "<<{x}*{y}={xy}>>{xy}", "<<{xy}+{z}={all}>>{all}", "xy+z"),
    ("At the {p}, {a} counts {x} shelves with {y} {t} on each of them. During the day {z} of the {t} are "
     "sold to {b}. How many {t} are left in the evening?", "<<{x}*{y}={xy}>>{xy}", "<<{xy}-{z}={all}>>{all}", "xy-z"),
    ("{a} walks to the {p} and collects {x} {t} every hour for {y} hours. Then {a} gives {z} {t} to {b}. "
     "What number of {t} does {a} keep?", "<<{x}*{y}={xy}>>{xy}", "<<{xy}-{z}={all}>>{all}", "xy-z"),
]


def word_problem(draw, number):
    """A row as in GSM8K."""
    story, first, second, kind = STORIES[number % len(STORIES)]
    x, y = draw.randint(12, 60), draw.randint(11, 90)
    z = draw.randint(3, x * y - 5)
    found = x * y + z if kind == "xy+z" else x * y - z
    a, b = draw.sample(NAMES, 2)
    values = {"a": a, "b": b, "t": draw.choice(THINGS), "p": draw.choice(PLACES), "x": x, "y": y, "z": z,
              "xy": x * y, "all": found}
    steps = f"First there are {first} of them.\nIn the end there are {second} of them.\n#### {{all}}"
    return {"id": f"w{number}", "question": story.format(**values), "answer": steps.format(**values)}


def formula(draw, number):
    """A row as in MATH, with a solution that ends in a box."""
    a, b, c = draw.randint(2, 90), draw.randint(2, 90), draw.randint(2, 40)
    kinds = [
        (f"Compute ${a} \\cdot {b} + {c}$.", f"{a * b + c}", f"We have ${a} \\cdot {b} = {a * b}$."),
        (f"Simplify $\\frac{{{a}}}{{{a * c}}}$.", f"\\frac{{1}}{{{c}}}", f"Both are divisible by ${a}$."),
        (f"Expand $(x + {a})(x + {b})$.", f"x^2 + {a + b}x + {a * b}", "We multiply out."),
        (f"Solve $x - {a} = {b}$ for $x$.", f"{a + b}", f"We add ${a}$ on both sides."),
        (f"What is the distance between $(0, {a})$ and $({b}, {a})$ in the plane?", f"{b}", "It is horizontal."),
    ]
    problem, answer, steps = kinds[number % len(kinds)]
    return {"id": f"f{number}", "problem": f"Exercise {number}: {problem}", "answer": answer,
            "solution": f"{steps} So the answer is $\\boxed{{{answer}}}$."}


PROGRAMS = [
    ("{n}", "returns the sum of the numbers of a list that are greater than {k}",
     "def {n}(values):\n    total = 0\n    for value in values:\n        if value > {k}:\n            total += value\n    return total\n",
     ["{n}([{k}, {k1}]) == {k1}", "{n}([]) == 0", "{n}([{k1}, {k1}, 1]) == {k1} + {k1}", "{n}([{k2}, 0, {k1}]) == {k1} + {k2}"]),
    ("{n}", "counts the words of a text that have at least {k} letters",
     "def {n}(text):\n    return len([word for word in text.split() if len(word) >= {k}])\n",
     ["{n}('') == 0", "{n}('x' * {k}) == 1", "{n}('x' * {km}) == 0", "{n}('a ' + 'y' * {k1} + ' ' + 'z' * {k}) == 2"]),
    ("{n}", "returns every number of a list multiplied by {k}, in reverse order",
     "def {n}(values):\n    return [value * {k} for value in reversed(values)]\n",
     ["{n}([1, 2]) == [2 * {k}, {k}]", "{n}([]) == []", "{n}([3, 0, 5]) == [5 * {k}, 0, 3 * {k}]"]),
]


def program(draw, number):
    """A row with a task of type `code`, whose prompt names the function."""
    kind, k = number % len(PROGRAMS), draw.randint(3, 9)
    name = f"{draw.choice(THINGS)}_{draw.choice(PLACES)}_{number}"
    _, what, source, tests = PROGRAMS[kind]
    values = {"n": name, "k": k, "k1": k + 1, "k2": k + 2, "km": k - 1}
    task = {"type": "code", "language": "python",
            "tests": [{"assert": f"assert {test.format(**values)}"} for test in tests]}
    return {"id": f"p{number}", "prompt": f"Write a function `{name}` that {what.format(**values)}.",
            "canonical_solution": source.format(**values), "task": task}


def database(draw):
    rows = [(at, draw.choice(NAMES) + str(at), draw.choice(PLACES), draw.randint(1, 90) * 10,
             at % 5)
            for at in range(1, 13)]
    # Names, places and pay that differ, so that queries can be distinguished.
    rows = [(at, name, PLACES[at % 4], 100 + 37 * at % 91, rest)
            for at, name, place, _, rest in rows]
    inserts = ", ".join(str(row) for row in rows)
    return {"schema": "create table staff(id integer primary key, name text not null, place text not null, "
                      "pay integer not null, years integer not null)",
            "rows": f"insert into staff values {inserts}"}


def query(draw, number):
    """A row with a task of type `sql`."""
    low, years = draw.randint(110, 150), draw.randint(1, 3)
    kinds = [
        (f"What are the names of the staff that earn more than {low} and work for over {years} years?",
         f"select name from staff where pay > {low} and years > {years}"),
        (f"How many of the staff earn less than {low + 20}, for each place?",
         f"select place, count(*) from staff where pay < {low + 20} group by place"),
        (f"What is the highest pay of those with more than {years} years in each place?",
         f"select place, max(pay) from staff where years > {years} group by place"),
        (f"List the names of those who earn over {low - 5}, sorted by pay from highest to lowest.",
         f"select name from staff where pay > {low - 5} order by pay desc"),
    ]
    question, gold = kinds[number % len(kinds)]
    return {"id": f"q{number}", "question": f"{question} ({number})",
            "task": {"type": "sql", "dialect": "sqlite", "database": database(draw), "gold": gold}}


TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "city": {"type": "string"}, "days": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "book_table", "parameters": {
        "type": "object", "required": ["place", "guests"], "properties": {
            "place": {"type": "string"}, "guests": {"type": "integer"}, "outside": {"type": "boolean"}}}}},
]


def call(draw, number):
    """A row with a task of type `tools`."""
    name, days = draw.choice(NAMES), draw.randint(2, 9)
    if number % 2:
        prompt = f"Will it rain where {name} lives, in {name}ville, over the next {days} days? ({number})"
        expected = {"name": "get_weather", "arguments": {"city": f"{name}ville", "days": days}}
    else:
        prompt = f"{name} would like dinner for {days} at the {draw.choice(PLACES)} tonight. ({number})"
        expected = {"name": "book_table", "arguments": {"place": prompt.split(" at the ")[1].split()[0], "guests": days}}
    return {"id": f"c{number}", "prompt": prompt,
            "task": {"type": "tools", "tools": TOOLS, "expected": [expected]}}


def document(draw, number):
    """A row with a task of type `structured` or `text`."""
    name, years = draw.choice(NAMES), draw.randint(18, 90)
    if number % 3 == 2:
        place = draw.choice(PLACES).capitalize() + str(number)
        return {"id": f"d{number}", "prompt": f"Which place does the sign of house number {number} point to?",
                "task": {"type": "text", "answer": place, "match": "normalised"}}
    schema = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
              "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}}}
    return {"id": f"d{number}", "prompt": f"Extract as JSON: {name} turned {years} on day {number}.",
            "task": {"type": "structured", "schema": schema, "expected": {"name": name, "age": years}}}


def choice(draw, number):
    """A row with a task of type `math` and options."""
    a, b = draw.randint(3, 60), draw.randint(3, 60)
    values = [a * b, a * b + 10, a * b - 1, a + b]
    draw.shuffle(values)
    options = dict(zip("ABCD", map(str, values)))
    return {"id": f"o{number}", "question": f"What is the product of {a} and {b} in exercise {number}?",
            "task": {"type": "math", "answer": "ABCD"[values.index(a * b)], "choices": options}}


def total(draw, number):
    """A row with a task of type `math` and a number as gold."""
    a, b = draw.randint(100, 999), draw.randint(100, 999)
    return {"id": f"s{number}", "question": f"What is the sum of {a} and {b} in exercise {number}?",
            "task": {"type": "math", "answer": str(a + b)}}


SHAPES = {
    "sums": total,
    "words": word_problem, "formulas": formula, "programs": program, "queries": query, "calls": call,
    "documents": document, "choices": choice,
}
OPTIONS = {
    "words": ["--template", "gsm8k", "--rollouts", "rolls", "--against", "benchmark.jsonl"],
    "formulas": ["--template", '{"task": {"type": "math", "answer": "{{ answer }}"}, "prompt": "{{ problem }}", '
                 '"solution": "{{ solution }}", "id": "{{ id }}"}'],
}
