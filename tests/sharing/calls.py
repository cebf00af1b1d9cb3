"""Hostile calls, tools and states for `tools`."""

import json

from inputs import draw, graded

TOOL = {
    "name": "f",
    "parameters": {
        "type": "object",
        "properties": {"a": {}, "b": {"type": "integer"}},
    },
}
EXPECTED = [{"name": "f", "arguments": {"a": "x"}}]
UNITS = [
    "<tool_call>", '<tool_call>{"name":"f"', '<tool_call>{"name":"f","arguments":{}}</tool_call>',
    "<function=f>", "<parameter=a>", "[TOOL_CALLS]", '[TOOL_CALLS][{"name":"f"}]', "<|python_tag|>",
    "functools[", "<|tool_call|>[", '<invoke name="f">', "f\n{", "f(", "f(a=", "[f(a=1), ", "<tools>{",
    "```tool_code\nf(\n```\n", "<|channel|>commentary to=functions.f <|message|>{", "<arg_key>a",
    "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{",
    '{"name":"f","arguments":{}}\n', '{"name":"f","arguments":"{\\"a\\":', "<think><tool_call>", "<function_call>{",
]  # fmt: skip


def called(name, completion, expected=None, tools=None, **task):
    task = {"type": "tools", "tools": tools or [TOOL], **task}
    if "turns" not in task:
        task["expected"] = EXPECTED if expected is None else expected
    return graded(name, task, completion)


def call(arguments, name="f"):
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>\n'


def malformed(rng):
    unit, size = rng.choice(UNITS), rng.choice([3000, 100_000, 900_000])
    return called(f"{unit[:24]!r} to {size} bytes", unit * (size // len(unit.encode())))


def many(rng):
    count = rng.choice([100, 1000, 15_000])
    text = "".join(call(json.dumps({"a": str(i)})) for i in range(count))
    return called(
        f"{count} calls",
        text,
        mode=rng.choice(["all", "fraction", "f1"]),
        match=rng.choice(["exact", "subset", "any"]),
    )


def matched(rng):
    count = rng.choice([30, 128])
    made = [{"name": "f", "arguments": {"a": [i % 9, {"b": i}]}} for i in range(count)]
    text = "".join(call(json.dumps(one["arguments"])) for one in reversed(made))
    options = rng.choice([{"mode": "toolrl"}, {"mode": "f1"}, {"order": "sequence"}])
    return called(f"{count} expected calls in another order", text, made, **options)


def nearly_matched(rng):
    count = rng.choice([30, 128])
    made = [{"name": "f", "arguments": {"a": 0.05 * i}} for i in range(count)]
    text = "".join(call(json.dumps(one["arguments"])) for one in reversed(made))
    return called(
        f"{count} expected numbers within a tolerance", text, made, float_tolerance=0.1, mode="f1"
    )


def deep(rng):
    depth = rng.choice([60, 126, 5000, 200_000])
    unit, end = rng.choice([("[", "]"), ('{"a":', "}")])
    return called(f"arguments of depth {depth}", call(f'{{"a": {unit * depth}1{end * depth}}}'))


def pythonic(rng):
    depth, unit = (
        rng.choice([60, 3000, 100_000]),
        rng.choice(["[", "(", "{'a': ", "-", "f(", "not "]),
    )
    return called(f"pythonic: {depth} times {unit}", f"[f(a={unit * depth}1)]")


def strings(rng):
    size = rng.choice([10_000, 900_000])
    text = rng.choice(["x", "\\u0061", "ﷺ", '\\\\\\"']) * (size // 6)
    return called(
        f"argument of {size} bytes",
        call(f'{{"a": "{text}"}}'),
        [{"name": "f", "arguments": {"a": "y" * 1000}}],
        strings="folded",
    )


def numbers(rng):
    text = rng.choice(["1e999999999", "9" * 100_000, "1e-999999999", "0." + "3" * 50_000])
    return called(f"argument {text[:14]}", call(f'{{"b": {text}}}'), float_tolerance=0.1)


def keys(rng):
    count = rng.choice([1000, 30_000])
    return called(f"{count} arguments", call(json.dumps({f"k{i}": i for i in range(count)})))


def tools(rng):
    count, properties = rng.choice([(100, 20), (512, 40), (10, 3000)])
    made = [
        {
            "name": f"f{i}",
            "parameters": {
                "type": "object",
                "properties": {
                    f"p{j}": {"type": "string", "pattern": f"\\w{{9}}{j}"}
                    for j in range(properties)
                },
            },
        }
        for i in range(count)
    ]
    return called(
        f"{count} tools with {properties} properties", call('{"p0": "x"}', "f0"), [], tools=made
    )


def schema(rng):
    depth, width = rng.choice([(10, 2), (30, 2), (60, 2)])
    made = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * width} for i in range(depth)}
    made[f"d{depth}"] = {"type": "integer", "minimum": 5}
    parameters = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": made}
    return called(
        f"{width}^{depth} references",
        call('{"a": 1}'),
        [],
        tools=[{"name": "f", "parameters": parameters}],
        match="superset",
    )


def defaults(rng):
    count = rng.choice([100, 5000])
    properties = {f"p{i}": {"default": [i] * 20} for i in range(count)}
    tool = {"name": "f", "parameters": {"type": "object", "properties": properties}}
    return called(
        f"{count} defaults", call("{}") * 50, [{"name": "f", "arguments": {}}] * 50, tools=[tool]
    )


def turns(rng):
    count = rng.choice([10, 64])
    made = [EXPECTED] * count
    messages = []
    for index in range(count):
        messages.append({"role": "user", "content": str(index)})
        one = {
            "id": str(index),
            "type": "function",
            "function": {"name": "f", "arguments": '{"a": "x"}'},
        }
        messages.append({"role": "assistant", "content": "", "tool_calls": [one] * 5})
        messages.append({"role": "tool", "content": "x" * 50, "tool_call_id": str(index)})
    return called(f"{count} turns", messages, turns=made, mode=rng.choice(["all", "fraction"]))


def state(rng):
    count, size = rng.choice([(50, 100), (128, 1000), (100, 50_000)])
    initial = {f"k{i}": {"value": [i] * 5} for i in range(size)}
    effects = {"f": [{"op": "replace", "path": "/k0/value", "value": "{a}"}]}
    text = "".join(call(f'{{"a": {i}}}') for i in range(count))
    made = [{"name": "f", "arguments": {"a": i}} for i in range(count)]
    return called(
        f"{count} changes of a state of {size} keys",
        text,
        made,
        state={"initial": initial, "effects": effects},
    )


def nested_final(rng):
    depth = rng.choice([2, 30])
    final = {"type": "text", "answer": "x"}
    for _ in range(depth):
        final = {"type": "tools", "expected": [], "final": final}
    return called(f"{depth} nested tasks", "x", [], final=final)


SHAPES = [
    malformed, malformed, malformed, malformed, malformed, malformed, many, matched, nearly_matched,
    deep, deep, pythonic, pythonic, strings, numbers, keys, tools, schema, defaults, turns, state,
    nested_final,
]  # fmt: skip


def make(rng, count):
    return draw(SHAPES, rng, count)
