"""Hostile documents and schemas for `structured`."""

import json

from inputs import draw, graded

DRAFTS = ["4", "6", "7", "2019-09", "2020-12"]


def structured(name, completion, fenced=None, **task):
    text = f"```{fenced}\n{completion}\n```" if fenced else completion
    return graded(name, {"type": "structured", **task}, text)


def validated(name, schema, document, **task):
    return structured(name, json.dumps(document), schema=schema, **task)


def nesting(rng):
    form, unit, end = rng.choice([
        ("json", "[", "]"), ("json", '{"a":', "}"), ("yaml", "[", "]"), ("yaml", "- ", ""), ("yaml", "{a: ", "}"),
        ("yaml", "? ", ""), ("xml", "<a>", "</a>"), ("toml", "a.", ""), ("csv", '"', ""), ("toml", "[", "]"),
    ])  # fmt: skip
    depth = rng.choice([90, 3000, 200_000])
    return structured(
        f"{form}: {depth} times {unit.strip()}",
        unit * depth + "1" + end * depth,
        format=form,
        expected={"a": 1},
    )


def yaml_aliases(rng):
    levels, width = rng.choice([(4, 9), (9, 9), (30, 2)])
    lines = ["a0: &a0 [x, x]"] + [
        f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * width)}]" for i in range(levels)
    ]
    return structured(
        f"yaml: {levels} levels of {width} aliases",
        "\n".join(lines),
        "yaml",
        format="yaml",
        expected={},
    )


def xml_entities(rng):
    levels = rng.choice([3, 9])
    lines = ['<!ENTITY e0 "x">'] + [f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(levels)]
    return structured(
        f"xml: {levels} levels of entities",
        f"<!DOCTYPE a [{''.join(lines)}]><a>&e{levels};</a>",
        "xml",
        format="xml",
        expected={},
    )


def wide(rng):
    form, unit = rng.choice([
        ("json", '"k{}":1,'), ("yaml", "k{}: 1\n"), ("xml", '<k{0} a{0}="1"/>'), ("toml", "k{} = 1\n"), ("csv", "k{},"),
    ])  # fmt: skip
    count = rng.choice([1000, 50_000])
    text = "".join(unit.format(i) for i in range(count))
    text = {"json": f'{{{text}"z":1}}', "xml": f"<r>{text}</r>"}.get(form, text)
    return structured(f"{form}: {count} keys", text, format=form, expected={"k1": 1})


def tables(rng):
    count = rng.choice([500, 20_000])
    unit = rng.choice(["[a.b.c{}]\n", "[[a]]\n[a.b{}]\n", "a{}.b.c.d.e = 1\n"])
    return structured(
        f"toml: {count} times {unit.strip()!r}",
        "".join(unit.format(i) for i in range(count)),
        format="toml",
        expected={},
    )


def rows(rng):
    columns, count = rng.choice([(2, 200_000), (5000, 90), (50_000, 5)])
    text = "\n".join([",".join(f"c{i}" for i in range(columns))] + ["," * (columns - 1)] * count)
    return structured(
        f"csv: {count} rows of {columns} columns",
        text[:1_000_000],
        format="csv",
        expected=[{"c0": ""}],
    )


def numbers(rng):
    text = rng.choice(
        [
            "1e999999999",
            "1e-999999999",
            "9" * 200_000,
            "0." + "0" * 100_000 + "1",
            "-" + "1" * 50_000 + "e5",
        ]
    )
    keyword = rng.choice(["multipleOf", "minimum", "const", "exclusiveMaximum"])
    bound = rng.choice(["1e-9999", "1e9999", "0.01", "3" * 5000, "1e-400", "7e300"])
    schema = f'{{"{keyword}": {bound}}}'
    body = graded(
        f"number {text[:12]} and {keyword} {bound[:10]}",
        {"type": "structured", "schema": "@@"},
        text,
    )
    return replaced(body, schema)


def replaced(made, schema):
    """An input whose body contains numbers that Python cannot represent."""
    made.body = json.dumps(made.body).replace('"@@"', schema).encode()
    return made


def combined(rng):
    keyword = rng.choice(["anyOf", "oneOf", "allOf"])
    depth, width = rng.choice([(5, 8), (14, 2), (40, 1), (2, 200)])
    schema = {"type": "integer", "minimum": 5}
    for level in range(depth):
        schema = (
            {keyword: [{**schema, "title": str(i)} for i in range(width)]}
            if width ** (level + 1) < 20_000
            else {keyword: [schema]}
        )
    return validated(f"{depth} levels of {width} {keyword}", schema, 1)


def references(rng):
    keyword = rng.choice(["anyOf", "oneOf", "allOf"])
    depth, width = rng.choice([(10, 2), (25, 2), (60, 2), (8, 9)])
    made = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * width} for i in range(depth)}
    made[f"d{depth}"] = {"type": "integer", "minimum": 5}
    return validated(
        f"{width}^{depth} references by {keyword}",
        {"$ref": "#/$defs/d0", "$defs": made},
        rng.choice([1, 7]),
    )


def reference_properties(rng):
    depth = rng.choice([15, 40])
    made = {
        f"d{i}": {
            "properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}},
            "not": {"$ref": f"#/$defs/d{i + 1}"},
        }
        for i in range(depth)
    }
    made[f"d{depth}"] = {"type": "integer"}
    document = 1
    for _ in range(depth):
        document = {"a": document}
    return validated(
        f"{depth} references in `not`", {"$ref": "#/$defs/d0", "$defs": made}, document
    )


def loops(rng):
    schema = rng.choice([
        {"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"not": {"$ref": "#"}},
        {"$dynamicAnchor": "x", "allOf": [{"$dynamicRef": "#x"}]}, {"if": {"$ref": "#"}, "then": {"$ref": "#"}},
        {"items": {"$ref": "#"}, "contains": {"$ref": "#"}, "unevaluatedItems": False},
    ])  # fmt: skip
    document = 1
    for _ in range(rng.choice([3, 20, 90])):
        document = [document, document] if rng.random() < 0.15 else [document]
    return validated(f"reference to itself {json.dumps(schema)[:30]}", schema, document)


def unevaluated(rng):
    depth, count = rng.choice([(8, 20), (16, 200)])
    schema = {"properties": {"k0": True}}
    for i in range(depth):
        schema = {
            "anyOf": [schema, {"properties": {f"k{i}": True}}],
            "unevaluatedProperties": rng.random() < 0.8,
        }
    return validated(
        f"{depth} levels of unevaluated properties", schema, {f"k{i}": i for i in range(count)}
    )


def pattern(rng):
    text = rng.choice(
        [
            "^(a+)+$",
            "(a|aa)*b",
            "\\w{300}",
            "^(?=a)(a*)*$",
            "(a*)\\1",
            "((a{1,50}){1,50}){1,9}",
            "[\\s\\S]{0,900}x",
            "(?:\\p{L}+){40}",
        ]
    )
    size = rng.choice([30, 5000, 500_000])
    return validated(
        f"pattern {text} on {size}", {"pattern": text}, "a" * size + "!", draft=rng.choice(DRAFTS)
    )


def patterns(rng):
    count, size = rng.choice([(100, 30), (3000, 30), (10_000, 5), (40, 500)])
    schema = {"patternProperties": {f"\\w{{{size}}}x{i}": {} for i in range(count)}}
    return validated(
        f"{count} patterns of {size}", schema, {f"key{i}": 1 for i in range(rng.choice([1, 500]))}
    )


def enumeration(rng):
    count = rng.choice([1000, 50_000])
    schema = {"items": {"enum": [f"value {i}" for i in range(count)]}}
    return validated(f"enumeration of {count}", schema, [f"value {i}" for i in range(0, 20_000, 7)])


def unique(rng):
    count = rng.choice([500, 30_000])
    document = [{"a": [i], "b": "x" * 5} for i in range(count)]
    return validated(f"{count} unique objects", {"uniqueItems": True}, document[: 900_000 // 30])


def contains(rng):
    count = rng.choice([100, 5000])
    schema = {"contains": {"contains": {"const": 3}}, "minContains": count, "maxContains": count}
    return validated(f"{count} times contains", schema, [[1] * 30] * count)


def unordered(rng):
    count = rng.choice([50, 400, 20_000])
    document = [{"a": [i % 7, {"b": [i]}]} for i in range(count)]
    shuffled = rng.sample(document, count)
    return structured(
        f"{count} unordered values",
        json.dumps(document),
        expected=shuffled,
        arrays="unordered",
        mode=rng.choice(["valid", "partial"]),
        float_tolerance=rng.choice([0, 0.1]),
    )


def nearly_equal(rng):
    count = rng.choice([50, 300, 2000])
    document = [[0.05 * i, [0.05 * j for j in range(9)]] for i in range(count) for j in range(1)]
    return structured(
        f"{count} unordered numbers within a tolerance",
        json.dumps(document),
        expected=document[::-1],
        arrays="unordered",
        float_tolerance=0.1,
    )


def formats(rng):
    name = rng.choice(
        [
            "date-time",
            "email",
            "idn-hostname",
            "uri",
            "regex",
            "ipv6",
            "uri-template",
            "json-pointer",
            "duration",
        ]
    )
    unit = rng.choice(["a.", "a@", "[", "(", "%2", "{", "::", "1-", "xn--"])
    return validated(
        f"format {name} on {unit}",
        {"format": name},
        unit * rng.choice([100, 200_000]),
        draft="7",
        formats=True,
    )


def required(rng):
    count = rng.choice([1000, 30_000])
    schema = {
        "required": [f"k{i}" for i in range(count)],
        "dependentRequired": {f"k{i}": [f"k{i + 1}"] for i in range(count // 10)},
    }
    return validated(
        f"{count} required keys", schema, {f"k{i}": i for i in range(0, count, 2)}, mode="partial"
    )


def deep_schema(rng):
    depth, keyword = (
        rng.choice([20, 90]),
        rng.choice(["not", "items", "additionalProperties", "if", "contains"]),
    )
    schema = {}
    for _ in range(depth):
        schema = {keyword: schema, "allOf": [{keyword: True}]}
    document = 1
    for _ in range(depth):
        document = [document] if keyword in ("items", "contains") else {"a": document}
    return validated(f"{depth} levels of {keyword}", schema, document)


def fences(rng):
    unit = rng.choice(
        ["```json\n{\n```\n", "{", '{"a":', "[1,", "```\n", '"', "<a b='", "a: [\n", "- - - "]
    )
    size = rng.choice([5000, 900_000])
    form = rng.choice(["json", "yaml", "xml", "toml", "csv"])
    return structured(
        f"{form}: {unit!r} to {size} bytes",
        unit * (size // len(unit)),
        format=form,
        expected={"a": 1},
    )


SHAPES = [
    nesting, nesting, nesting, nesting, yaml_aliases, xml_entities, wide, wide, tables, rows,
    numbers, numbers, combined, references, references, reference_properties, loops, unevaluated,
    pattern, pattern, patterns, enumeration, unique, contains, unordered, nearly_equal, formats,
    required, deep_schema, fences, fences,
]  # fmt: skip


def make(rng, count):
    return draw(SHAPES, rng, count)
