"""Kinds of defects. Each changes a clean row, and names the findings of which one must be reported."""

import copy
import json
import re

KINDS = []


def kind(shape, name, *codes):
    """Registers a function that changes a row, given the random numbers and another row of the file."""
    def register(change):
        KINDS.append((shape, name, set(codes), change))
        return change
    return register


def gold(row, new):
    row["answer"] = row["answer"].split("####")[0] + f"#### {new}"


def value(row):
    return int(row["answer"].split("#### ")[1])


def simple(shape, name, codes, change):
    KINDS.append((shape, name, set(codes.split()), lambda row, draw, other: change(row)))


def put(path, new):
    """A change that sets a field of the row, or removes it if `new` is None."""
    def change(row):
        *folders, last = path
        for folder in folders:
            row = row[folder]
        if new is None:
            del row[last]
        else:
            row[last] = copy.deepcopy(new)
    return change


def edit(column, new):
    """A change that replaces the text of a column by `new(text)`."""
    def change(row):
        row[column] = new(row[column])
    return change


# Word problems.
simple("words", "gold off by one", "calculation-differs", lambda row: gold(row, value(row) + 1))
simple("words", "gold of another row", "calculation-differs", lambda row: gold(row, value(row) * 3 + 77))
simple("words", "gold with the opposite sign", "calculation-differs", lambda row: gold(row, -value(row)))
simple("words", "gold with lost digit", "calculation-differs", lambda row: gold(row, f"{value(row)}7"))
simple("words", "empty gold", "gold-not-parsed template-fails", lambda row: gold(row, ""))
simple("words", "gold N/A", "gold-missing", lambda row: gold(row, "N/A"))
simple("words", "gold None", "gold-missing", lambda row: gold(row, "None"))
simple("words", "gold nan", "gold-missing", lambda row: gold(row, "nan"))
simple("words", "gold with a note", "gold-brittle gold-note", lambda row: gold(row, f"{value(row)} (things in total)"))
simple("words", "gold with a reason", "gold-note", lambda row: gold(row, f"{value(row)} because they add up"))
simple("words", "gold is a sentence", "gold-note", lambda row: gold(row, "they have a lot more of them than before today"))
simple("words", "gold is a proof", "gold-note", lambda row: gold(row, "Proof by induction on the number of boxes"))
simple("words", "gold may vary", "gold-note", lambda row: gold(row, "Answers may vary"))
simple("words", "gold is a refusal", "solution-refuses", lambda row: gold(row, "I'm sorry, I cannot answer"))
simple("words", "two golds", "gold-ambiguous", lambda row: gold(row, f"{value(row)} or {value(row) + 2}"))
simple("words", "two questions", "gold-ambiguous", edit("question", lambda text: text + " What do they cost in total?"))
simple("words", "wrong marked calculation", "arithmetic-slip",
       edit("answer", lambda text: re.sub(r"=(\d+)>>(\d+)", lambda found: f"={int(found[1]) + 10}>>{int(found[1]) + 10}", text, count=1)))
simple("words", "wrong written calculation", "arithmetic-slip", edit("answer", lambda text: "We know 12 + 30 = 43.\n" + text))
simple("words", "wrong product", "arithmetic-slip", edit("answer", lambda text: "So 7 * 8 = 54 of them.\n" + text))
simple("words", "empty prompt", "prompt-incomplete", edit("question", lambda text: ""))
simple("words", "blank prompt", "prompt-incomplete", edit("question", lambda text: " \n"))
simple("words", "placeholder", "prompt-incomplete", edit("question", lambda text: "TODO"))
simple("words", "slot of a template", "prompt-incomplete", edit("question", lambda text: "Solve the problem: {question}"))
simple("words", "cut prompt", "prompt-incomplete", edit("question", lambda text: text.split(". ")[0] + ", and the"))
simple("words", "missing figure", "prompt-incomplete", edit("question", lambda text: "How long is the red side in the figure?"))
simple("words", "missing diagram", "prompt-incomplete", edit("question", lambda text: "Use the diagram below to find the angle."))
simple("words", "missing passage", "prompt-incomplete", edit("question", lambda text: "According to the passage, how many left?"))
simple("words", "missing table", "prompt-incomplete", edit("question", lambda text: "Use the table below. How many pens were sold?"))
simple("words", "missing question", "prompt-incomplete", edit("question", lambda text: "Double the result of the previous question."))
simple("words", "mojibake", "text-damaged", edit("question", lambda text: text.replace("at the", "at the cafÃ© in the")
                                                 if "at the" in text else "At the cafÃ©: " + text))
simple("words", "mojibake of quotes", "text-damaged", edit("question", lambda text: "It isnâ€™t much. " + text))
simple("words", "NUL", "text-damaged", edit("question", lambda text: text + "\0"))
simple("words", "replacement character", "text-damaged", edit("question", lambda text: "\ufffd" + text))
simple("words", "HTML entity", "text-damaged", edit("question", lambda text: "Tom &amp; Co: " + text))
simple("words", "German", "prompt-language", edit("question", lambda text: "Wie viele Äpfel sind das, wenn die Kiste und der Korb leer sind und nicht mit?"))
simple("words", "Chinese", "prompt-language", edit("question", lambda text: "小明有五个苹果，他又买了三个，现在一共有几个？"))
simple("words", "Russian", "prompt-language", edit("question", lambda text: "Сколько яблок осталось у Маши в корзине вечером?"))


@kind("words", "answer stated in the prompt", "answer-in-prompt")
def _(row, draw, other):
    row["question"] += f" Answer: {value(row)}"


@kind("words", "marked answer in the prompt", "answer-in-prompt")
def _(row, draw, other):
    row["question"] += f"\n#### {value(row)}"


@kind("words", "solution in the prompt", "answer-in-prompt")
def _(row, draw, other):
    row["question"] += " " + row["answer"]


simple("words", "solution is a refusal", "solution-refuses",
       edit("answer", lambda text: "I cannot help with that. #### " + text.split("#### ")[1]))
simple("words", "solution of an assistant", "solution-refuses",
       edit("answer", lambda text: "As an AI, I do not count. #### " + text.split("#### ")[1]))


@kind("words", "duplicate", "duplicate-row")
def _(row, draw, other):
    row.update({"question": other["question"], "answer": other["answer"]})


@kind("words", "duplicate in capitals", "duplicate-row")
def _(row, draw, other):
    row.update({"question": other["question"].upper(), "answer": other["answer"]})


@kind("words", "near duplicate", "near-duplicate")
def _(row, draw, other):
    row.update({"question": other["question"].replace("How many", "Say how many").replace("What number", "Tell what number"),
                "answer": other["answer"]})


@kind("words", "near duplicate with another gold", "near-conflict")
def _(row, draw, other):
    changed = other["question"].replace("How many", "Say how many").replace("What number", "Tell what number")
    row.update({"question": changed, "answer": other["answer"]})
    gold(row, value(other) - 1)


@kind("words", "conflicting golds", "conflicting-golds")
def _(row, draw, other):
    row.update({"question": other["question"], "answer": other["answer"]})
    gold(row, value(other) + 5)


@kind("words", "equal ids", "duplicate-id")
def _(row, draw, other):
    row["id"] = other["id"]


simple("words", "null id", "id-missing", edit("id", lambda text: None))
simple("words", "empty id", "id-missing", edit("id", lambda text: ""))
simple("words", "missing column", "field-missing", put(["answer"], None))
simple("words", "null column", "field-missing", edit("answer", lambda text: None))
simple("words", "answer without mark", "template-fails", edit("answer", lambda text: text.replace("####", "so")))
simple("words", "large integer", "template-fails", lambda row: row.update(seed=10**30))
KINDS.append(("words", "broken line", {"row-not-readable"}, lambda row, draw, other: json.dumps(row)[:-7].encode()))
KINDS.append(("words", "not an object", {"row-not-readable"}, lambda row, draw, other: json.dumps([row]).encode()))
KINDS.append(("words", "not UTF-8", {"row-not-readable"},
              lambda row, draw, other: json.dumps(row).encode().replace(b"the", b"th\xff", 1)))
KINDS.append(("words", "column twice", {"row-not-readable"},
              lambda row, draw, other: json.dumps(row).encode()[:-1] + b', "answer": "#### 1"}'))
simple("words", "benchmark question", "contaminated", edit("question", lambda text: BENCHMARK))
simple("words", "benchmark question with other names", "contaminated",
       edit("question", lambda text: BENCHMARK.replace("Rosa", "Timo").replace("45", "87").replace("12", "31")))
simple("words", "always solved", "always-solved", lambda row: row.update(rolls=[f"\\boxed{{{value(row)}}}"] * 6))
simple("words", "never solved", "never-solved", lambda row: row.update(rolls=[f"\\boxed{{{at}}}" for at in range(1, 7)]))
simple("words", "rollouts against the gold", "rollouts-disagree",
       lambda row: row.update(rolls=[f"\\boxed{{{value(row) + 9}}}"] * 9 + [f"\\boxed{{{value(row)}}}"]))

BENCHMARK = ("Every morning Rosa packs 45 lunch boxes for the children of the summer camp, and on Fridays she packs "
             "12 more of them for the visiting parents. How many boxes does she pack in four weeks?")

# Formulas.
simple("formulas", "solution with another answer", "solution-fails", edit("answer", lambda text: "-17" if text != "-17" else "-18"))
simple("formulas", "percent for fraction", "solution-fails",
       lambda row: row.update(answer="0.25", solution="That is $\\boxed{25}$."))
simple("formulas", "unclosed fraction in prompt", "latex-broken", edit("problem", lambda text: text + " Use $\\frac{1}{2$."))
simple("formulas", "fraction without backslash", "latex-broken", edit("problem", lambda text: text + " Use $frac{1}{2} \\cdot 3$."))
simple("formulas", "command escaped twice", "latex-broken", edit("problem", lambda text: text + " Use $\\\\frac{1}{2}$."))
simple("formulas", "left without right", "latex-broken", edit("problem", lambda text: text + " Use $\\left( x + 1)$."))
simple("formulas", "environment not closed", "latex-broken", edit("problem", lambda text: text + " $\\begin{matrix} 1$"))
simple("formulas", "swallowed backslash", "text-damaged", edit("problem", lambda text: text + " Use $\frac{1}{2}$."))
simple("formulas", "swallowed tab", "text-damaged", edit("problem", lambda text: text + " Use $3 \times 4$."))
simple("formulas", "broken gold", "latex-broken gold-not-parsed", edit("answer", lambda text: "\\frac{1}{2"))
simple("formulas", "gold is a list of alternatives", "gold-ambiguous", edit("answer", lambda text: "3 or 5"))
simple("formulas", "gold is a sentence", "gold-note", edit("answer", lambda text: "there are no real numbers that solve this one"))
simple("formulas", "approximate gold", "gold-note", edit("answer", lambda text: "approximately 12"))
simple("formulas", "gold NaN", "gold-missing", edit("answer", lambda text: "NaN"))
simple("formulas", "equal options in prompt", "choices-invalid",
       lambda row: row.update(problem=row["problem"] + " (A) 3 (B) 4 (C) 4 (D) 5", answer="A", solution="\\boxed{A}"))
simple("formulas", "gold is no option of the prompt", "choices-invalid",
       lambda row: row.update(problem=row["problem"] + " (A) 3 (B) 4 (C) 6 (D) 5", answer="E", solution="\\boxed{E}"))
simple("formulas", "boxed answer in the prompt", "answer-in-prompt",
       lambda row: row.update(problem=row["problem"] + f" \\boxed{{{row['answer']}}}"))

# Sums.
simple("sums", "gold in words", "mixed-answers", put(["task", "answer"], "several"))
simple("sums", "gold is an expression", "mixed-answers", put(["task", "answer"], "2x + 1"))

# Multiple choice.
simple("choices", "equal options", "choices-invalid", lambda row: row["task"]["choices"].update(A="7", B="7"))
simple("choices", "empty option", "choices-invalid", lambda row: row["task"]["choices"].update(C=""))
simple("choices", "gold is no option", "choices-invalid task-rejected task-ungradable", put(["task", "answer"], "F"))
simple("choices", "gold of another value", "choices-invalid task-ungradable", put(["task", "answer"], "123456"))
simple("choices", "gold missing", "task-rejected", put(["task", "answer"], None))
simple("choices", "tolerance too wide", "weak-checks mutant-accepted",
       lambda row: row["task"].update(answer="12", tolerance={"relative": 1000000}) or row["task"].pop("choices"))

# Programs.
simple("programs", "wrong solution", "solution-fails", edit("canonical_solution", lambda text: text.replace("return", "return 1 if 1 else")))
simple("programs", "solution does not parse", "solution-fails", edit("canonical_solution", lambda text: text.replace("def ", "deff ")))
simple("programs", "solution does not end", "solution-fails", edit("canonical_solution", lambda text: text.replace("    return", "    while True: pass\n    return", 1)))
simple("programs", "solution is a refusal", "solution-refuses", edit("canonical_solution", lambda text: "I'm sorry, but I can't write this."))
simple("programs", "test of nothing", "mutant-accepted weak-checks empty-accepted", put(["task", "tests"], [{"assert": "assert True"}]))
KINDS.append(("programs", "test of the type only", {"mutant-accepted", "weak-checks"},
              lambda row, draw, other: row["task"].update(tests=[{"assert": f"assert callable({name(row)})"}])))
KINDS.append(("programs", "one easy test", {"weak-checks", "mutant-accepted"},
              lambda row, draw, other: row["task"].update(tests=row["task"]["tests"][:1])))
simple("programs", "unnamed function", "tested-name-missing", edit("prompt", lambda text: re.sub(r" `\w+`", "", text)))
simple("programs", "other function named", "tested-name-missing", edit("prompt", lambda text: re.sub(r"`\w+`", "`solve`", text)))
KINDS.append(("programs", "exact float", {"tests-fragile"},
              lambda row, draw, other: row["task"]["tests"].append({"assert": f"import math\nassert {name(row)} and math.sqrt(2) == 1.4142135623730951"})))
KINDS.append(("programs", "order of a set", {"tests-fragile"}, lambda row, draw, other: row.update(
    canonical_solution=f"def {name(row)}(values):\n    return list(set(values))\n",
    task={**row["task"], "tests": [{"assert": f"assert {name(row)}([3, 1, 3]) == [1, 3]"}, {"assert": f"assert {name(row)}([2]) == [2]"}]})))
KINDS.append(("programs", "date", {"tests-fragile"}, lambda row, draw, other: row["task"]["tests"].append(
    {"assert": f"import datetime\nassert {name(row)} and datetime.datetime.now().year > 1960"})))
KINDS.append(("programs", "chance", {"tests-fragile"}, lambda row, draw, other: row["task"]["tests"].append(
    {"assert": f"import random\nassert {name(row)} and random.random() < 2"})))
KINDS.append(("programs", "missing module", {"module-missing"}, lambda row, draw, other: row["task"]["tests"].insert(
    0, {"assert": f"import tensorflow\nassert {name(row)}"})))
KINDS.append(("programs", "test does not parse", {"task-ungradable"}, lambda row, draw, other: row["task"]["tests"].append({"assert": "assert ("})))
KINDS.append(("programs", "test of another function", {"solution-fails", "task-ungradable"},
              lambda row, draw, other: row["task"].update(tests=[{"assert": "assert other_function(2) == 4"}])))
simple("programs", "no tests", "task-rejected", put(["task", "tests"], []))
simple("programs", "tests missing", "task-rejected", put(["task", "tests"], None))
simple("programs", "unknown language", "task-rejected", put(["task", "language"], "brainfog"))
KINDS.append(("programs", "solution in the prompt", {"answer-in-prompt"},
              lambda row, draw, other: row.update(prompt=row["prompt"] + "\n" + row["canonical_solution"])))
simple("programs", "placeholder", "prompt-incomplete", edit("prompt", lambda text: "{{ prompt }}"))


def name(row):
    return re.search(r"def (\w+)", row["canonical_solution"])[1]


# Queries.
simple("queries", "broken gold", "task-ungradable", put(["task", "gold"], "selec name from staff"))
simple("queries", "unknown table", "task-ungradable", put(["task", "gold"], "select name from people"))
simple("queries", "unknown column", "task-ungradable", put(["task", "gold"], "select salary from staff"))
simple("queries", "gold left to chance", "sql-gold-ambiguous", put(["task", "gold"], "select name from staff limit 1"))
simple("queries", "order missing", "sql-order-missing", lambda row: (
    row.update(question=f"List all names in alphabetical order {row['id']}."), put(["task", "gold"], "select name from staff")(row)))
simple("queries", "empty database", "mutant-accepted weak-checks task-ungradable", put(["task", "database", "rows"], "delete from staff"))
simple("queries", "database of one row", "weak-checks mutant-accepted", lambda row: (
    put(["task", "database", "rows"], "insert into staff values (1, 'Ada', 'market', 500, 50)")(row),
    put(["task", "gold"], "select distinct name from staff where pay >= 1 and years > 0 order by name desc")(row)))
simple("queries", "gold in the prompt", "answer-in-prompt", lambda row: row.update(question=row["question"] + " " + row["task"]["gold"] + ";"))
simple("queries", "broken schema", "task-ungradable task-rejected", put(["task", "database", "schema"], "create tabel staff(id)"))
simple("queries", "gold missing", "task-rejected", put(["task", "gold"], None))
simple("queries", "gold is empty", "task-rejected task-ungradable", put(["task", "gold"], ""))


@kind("queries", "conflicting golds", "conflicting-golds")
def _(row, draw, other):
    row.update(question=other["question"], task={**other["task"], "gold": "select id from staff where id = 3"})


# Calls.
simple("calls", "unknown tool", "call-invalid task-rejected task-ungradable", put(["task", "expected"], [{"name": "get_news", "arguments": {"city": "Oslo"}}]))
simple("calls", "unknown argument", "call-invalid task-ungradable", put(["task", "expected"], [{"name": "get_weather", "arguments": {"city": "Oslo", "when": "now"}}]))
simple("calls", "ill-typed argument", "call-invalid task-ungradable", put(["task", "expected"], [{"name": "get_weather", "arguments": {"city": 7}}]))
simple("calls", "number as text", "call-invalid task-ungradable", put(["task", "expected"], [{"name": "book_table", "arguments": {"place": "Inn", "guests": "four"}}]))
simple("calls", "required argument missing", "call-invalid task-ungradable", put(["task", "expected"], [{"name": "book_table", "arguments": {"place": "Inn"}}]))
simple("calls", "no calls", "call-missing", lambda row: (
    row.update(prompt=f"Please get weather for Oslo {row['id']}"), put(["task", "expected"], [])(row)))
simple("calls", "call in the prompt", "answer-in-prompt", lambda row: row.update(
    prompt=f"{row['id']}: call get_weather(city='Bergen', days=3)",
    task={**row["task"], "expected": [{"name": "get_weather", "arguments": {"city": "Bergen", "days": 3}}]}))
simple("calls", "tool without a name", "task-rejected", put(["task", "tools"], [{"type": "function", "function": {}}]))
simple("calls", "expected missing", "task-rejected", put(["task", "expected"], None))


@kind("calls", "conflicting golds", "conflicting-golds")
def _(row, draw, other):
    row.update(prompt=other["prompt"], task={**other["task"], "expected": [{"name": "get_weather", "arguments": {"city": "Elsewhere"}}]})


# Documents and texts.
def structured(**fields):
    return {"type": "structured", **fields}


simple("documents", "schema accepts everything", "schema-suspicious", put(["task"], structured(schema={})))
simple("documents", "schema is true", "schema-suspicious", put(["task"], structured(schema=True)))
simple("documents", "schema is false", "schema-suspicious task-rejected", put(["task"], structured(schema=False)))
simple("documents", "schema only describes", "schema-suspicious", put(["task"], structured(schema={"title": "A person", "description": "x"})))
simple("documents", "misspelt properties", "schema-suspicious", put(["task"], structured(schema={"type": "object", "propertys": {"a": {}}})))
simple("documents", "misspelt required", "schema-suspicious", put(["task"], structured(schema={"type": "object", "requried": ["a"]})))
simple("documents", "minimum above maximum", "schema-suspicious", put(["task"], structured(schema={"type": "integer", "minimum": 5, "maximum": 2})))
simple("documents", "empty enum", "schema-suspicious task-rejected", put(["task"], structured(schema={"enum": []})))
simple("documents", "required is not allowed", "schema-suspicious", put(["task"], structured(
    schema={"type": "object", "required": ["b"], "properties": {"a": {}}, "additionalProperties": False})))
simple("documents", "expected is invalid", "gold-fails task-ungradable task-rejected", put(["task"], structured(
    schema={"type": "object", "required": ["name"]}, expected={"age": 3})))
simple("documents", "unknown format", "task-rejected", put(["task"], structured(format="docx", schema={"type": "object"})))
simple("documents", "pattern matches everything", "empty-accepted refusal-accepted", put(["task"], {"type": "text", "answer": ".*", "match": "pattern"}))
simple("documents", "pattern matches any words", "refusal-accepted mutant-accepted", put(["task"], {"type": "text", "answer": "\\w+", "match": "pattern"}))
simple("documents", "one letter is enough", "refusal-accepted mutant-accepted", put(["task"], {"type": "text", "answer": "a", "match": "contains"}))
simple("documents", "gold with quotes", "gold-brittle", put(["task"], {"type": "text", "answer": "\"Lisbon\""}))
simple("documents", "broken pattern", "task-rejected task-ungradable", put(["task"], {"type": "text", "answer": "(", "match": "pattern"}))
simple("documents", "gold in the prompt", "prompt-accepted answer-in-prompt", lambda row: row.update(
    prompt=f"The answer is Lisbon. What is it, {row['id']}?", task={"type": "text", "answer": "Lisbon", "match": "contains"}))
simple("documents", "gold is a refusal", "solution-refuses", put(["task"], {"type": "text", "answer": "I cannot answer that."}))
simple("documents", "tab in the prompt", "text-damaged", edit("prompt", lambda text: "\x07" + text))
