"""Checks calls with the AST checker of the package `bfcl-eval`, which must be installed for the
interpreter that runs this (`pip install --no-deps bfcl-eval` is enough: what the checker imports
for other languages and for models is left out here).

Reads a JSON object from standard input: {"times": n, "sets": [{"category", "tools", "expected",
"outputs": [{"valid", "calls"}]}], "texts": [[text of each output]]}. Prints processor time of one
output in seconds, three times: of checking what is decoded; of decoding and checking its text, the
calls found by a regular expression as BFCL's handlers of such models do; and of reading the task as
well.
"""

import json
import re
import sys
import time
import types


def leave_out(name, **names):
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module


CONVERTORS = "bfcl_eval.eval_checker.ast_eval.type_convertor"
leave_out(
    "bfcl_eval.constants.model_config",
    MODEL_CONFIG_MAPPING={"any": types.SimpleNamespace(underscore_to_dot=False)},
)
leave_out(f"{CONVERTORS}.java_type_converter", java_type_converter=None)
leave_out(f"{CONVERTORS}.js_type_converter", js_type_converter=None)

from bfcl_eval.constants.enums import Language  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402


BLOCK = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)


def decoded(text):
    calls = (json.loads(block) for block in BLOCK.findall(text))
    return [{call["name"]: call["arguments"]} for call in calls]


def check(one, calls, valid):
    checked = ast_checker(
        one["tools"], calls, one["expected"], Language.PYTHON, one["category"], "any"
    )
    assert checked["valid"] == valid, (calls, checked)


def main():
    work = json.load(sys.stdin)
    outputs = [
        (one, output["calls"], text, output["valid"])
        for one, texts in zip(work["sets"], work["texts"])
        for output, text in zip(one["outputs"], texts)
    ]
    count = work["times"] * len(outputs)
    begun = time.process_time()
    for _ in range(work["times"]):
        for one, calls, _, valid in outputs:
            check(one, calls, valid)
    checked = time.process_time() - begun
    begun = time.process_time()
    for _ in range(work["times"]):
        for one, _, text, valid in outputs:
            check(one, decoded(text), valid)
    from_text = time.process_time() - begun
    tasks = [json.dumps({k: v for k, v in one.items() if k != "outputs"}) for one, *_ in outputs]
    begun = time.process_time()
    for _ in range(work["times"]):
        for task, (_, _, text, valid) in zip(tasks, outputs):
            check(json.loads(task), decoded(text), valid)
    print(checked / count, from_text / count, (time.process_time() - begun) / count)


main()
