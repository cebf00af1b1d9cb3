#!/usr/bin/env python3
"""Compares verdicts of the mode `bfcl` with the AST checker of the package `bfcl-eval`, which must
be installed for the interpreter that runs this (`pip install --no-deps bfcl-eval` is enough).

usage: tool_calls.py BINARY [--entries N]

The entries are those of the package. For each, calls are written from its accepted answers, right
and with one change, in a form with types and in one without. Prints the number of agreements by
category and form, and the differences by kind of change.
"""

import argparse
import collections
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import types

CATEGORIES = {
    "simple_python": "python",
    "multiple": "python",
    "parallel": "python",
    "parallel_multiple": "python",
    "live_simple": "python",
    "live_multiple": "python",
    "live_parallel": "python",
    "live_parallel_multiple": "python",
    "simple_java": "java",
    "simple_javascript": "javascript",
}
BATCH = 2_000


def checker():
    """The checker, without what it imports for models."""
    module = types.ModuleType("bfcl_eval.constants.model_config")
    module.MODEL_CONFIG_MAPPING = {"any": types.SimpleNamespace(underscore_to_dot=False)}
    sys.modules[module.__name__] = module
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    return ast_checker, {language: Language[language.upper()] for language in CATEGORIES.values()}


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def value_of(accepted):
    """The first accepted value; `None` if the argument is to be left out."""
    if not isinstance(accepted, list):
        return accepted
    chosen = next((value for value in accepted if value != ""), None)
    if isinstance(chosen, dict):
        inner = {key: value_of(values) for key, values in chosen.items()}
        return {key: value for key, value in inner.items() if value is not None}
    if isinstance(chosen, list) and chosen and all(isinstance(one, dict) for one in chosen):
        return [value_of([one]) for one in chosen]
    return chosen


def source(value, declared, language):
    """A value as source text of a language."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        suffix = {"long": "L", "float": "f"}.get(declared, "") if language == "java" else ""
        return f"{value}{suffix}"
    if language == "javascript":
        return json.dumps(value)
    inner = [one if isinstance(one, str) else source(one, "", language) for one in value]
    quoted = [json.dumps(one) if isinstance(one, str) else one for one in value]
    texts = [
        text if isinstance(one, str) else plain
        for one, text, plain in zip(value, quoted, inner)
    ]
    if isinstance(value, dict):
        puts = (f"put({json.dumps(key)}, {json.dumps(one)});" for key, one in value.items())
        return f"new HashMap<String, Object>() {{{{ {' '.join(puts)} }}}}"
    if declared == "ArrayList":
        return f"new ArrayList<Object>(Arrays.asList({', '.join(texts)}))"
    return f"new Object[]{{{', '.join(texts)}}}"


def changes(calls):
    """Calls, right and with one change, each with the kind of the change."""
    yield "none", calls
    yield "a call more", [*calls, calls[0]]
    yield "a call less", calls[:-1]
    name, arguments = next(iter(calls[0].items()))
    for key, value in arguments.items():
        others = {other: one for other, one in arguments.items() if other != key}
        yield "left out", [{name: others}, *calls[1:]]
        yield "as text", [{name: {**arguments, key: str(value)}}, *calls[1:]]
        yield "other value", [{name: {**arguments, key: "other"}}, *calls[1:]]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield "other number", [{name: {**arguments, key: value + 1}}, *calls[1:]]
        if isinstance(value, list):
            yield "other list", [{name: {**arguments, key: value[::-1] + value[:1]}}, *calls[1:]]
        if isinstance(value, str):
            yield "other case", [{name: {**arguments, key: value.upper() + "."}}, *calls[1:]]
    yield "unknown argument", [{name: {**arguments, "unknown": 1}}, *calls[1:]]
    yield "other name", [{f"{name}_x": arguments}, *calls[1:]]


def typed(calls):
    return "\n".join(
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"
        for call in calls
        for name, arguments in call.items()
    )


def untyped(calls):
    def text(value):
        return value if isinstance(value, str) else json.dumps(value)

    def parameters(arguments):
        return "".join(
            f"<parameter={key}>\n{text(value)}\n</parameter>\n" for key, value in arguments.items()
        )

    return "\n".join(
        f"<tool_call>\n<function={name}>\n{parameters(arguments)}</function>\n</tool_call>"
        for call in calls
        for name, arguments in call.items()
    )


FORMS = {"typed": typed, "untyped": untyped}


def graded(binary, items):
    """Whether each item is accepted."""
    accepted = {}
    for first in range(0, len(items), BATCH):
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = pathlib.Path(folder, "items.jsonl"), pathlib.Path(folder, "out.jsonl")
            lines = (json.dumps(entry) + "\n" for entry in items[first : first + BATCH])
            asked.write_text("".join(lines), encoding="utf-8")
            command = [str(pathlib.Path(binary).resolve()), "grade", str(asked), "-o", str(answered)]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            for result in read(answered):
                accepted[result["id"]] = result["verdict"] == "correct"
    return accepted


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--entries", type=int, default=10_000, help="at most, of each category")
    asked = parser.parse_args()
    check, languages = checker()
    data = pathlib.Path(importlib.util.find_spec("bfcl_eval").origin).parent / "data"
    items, expected = [], {}
    for category, language in CATEGORIES.items():
        name = f"BFCL_v4_{category}.json"
        golds = {gold["id"]: gold["ground_truth"] for gold in read(data / "possible_answer" / name)}
        for entry in read(data / name)[: asked.entries]:
            tools, answers = entry["function"], golds[entry["id"]]
            task = {"type": "tools", "mode": "bfcl", "language": language}
            task |= {"tools": tools, "expected": answers}
            declared = {
                tool["name"]: {
                    key: schema["type"] for key, schema in tool["parameters"]["properties"].items()
                }
                for tool in tools
            }
            calls = []
            for answer in answers:
                for tool, arguments in answer.items():
                    chosen = {key: value_of(values) for key, values in arguments.items()}
                    chosen = {key: value for key, value in chosen.items() if value is not None}
                    calls.append({tool: chosen})
            for at, (change, made) in enumerate(changes(calls)):
                if language != "python":
                    made = [
                        {
                            tool: {
                                key: source(value, declared.get(tool, {}).get(key), language)
                                for key, value in arguments.items()
                            }
                            for tool, arguments in call.items()
                        }
                        for call in made
                    ]
                try:
                    checked = check(tools, made, answers, languages[language], category, "any")
                except Exception as error:  # the checker fails on some of its own entries
                    checked = {"valid": None, "error_type": type(error).__name__}
                for form, write in FORMS.items():
                    # Without types, a value and its text are the same.
                    if (form, change) == ("untyped", "as text"):
                        continue
                    key = f"{entry['id']} {at} {form}"
                    expected[key] = (category, form, change, checked["valid"])
                    items.append({"id": key, "task": task, "completion": write(made)})
    accepted = graded(asked.binary, items)
    counts, differences = collections.Counter(), collections.Counter()
    examples = {}
    for key, (category, form, change, valid) in expected.items():
        kind = "failed" if valid is None else "agree" if accepted[key] == valid else "differ"
        counts[category, form, kind] += 1
        if kind == "differ":
            difference = (form, change, "accepted here" if accepted[key] else "rejected here")
            differences[difference] += 1
            examples.setdefault(difference, key)
    for category in CATEGORIES:
        for form in FORMS:
            found = {kind: counts[category, form, kind] for kind in ("agree", "differ", "failed")}
            print(f"{category}, {form}: {found}")
    for difference, count in differences.most_common():
        print(f"  {count} x {', '.join(difference)}, as in {examples[difference]}")


if __name__ == "__main__":
    main()
