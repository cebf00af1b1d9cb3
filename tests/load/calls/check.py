"""Checks calls with the AST checker of the package `bfcl-eval`, which must be installed for the interpreter that runs this
(`pip install --no-deps bfcl-eval` is enough: what the checker imports for other languages and for models is left out here).

Reads a JSON object from standard input: {"times": n, "sets": [{"category", "tools", "expected", "outputs": [{"valid", "calls"}]}]}.
Prints the processor time of one output in seconds. Outputs are decoded before the clock starts.
"""

import json
import sys
import time
import types


def leave_out(name, **names):
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module


CONVERTORS = "bfcl_eval.eval_checker.ast_eval.type_convertor"
leave_out("bfcl_eval.constants.model_config", MODEL_CONFIG_MAPPING={"any": types.SimpleNamespace(underscore_to_dot=False)})
leave_out(f"{CONVERTORS}.java_type_converter", java_type_converter=None)
leave_out(f"{CONVERTORS}.js_type_converter", js_type_converter=None)

from bfcl_eval.constants.enums import Language  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402


def main():
    work = json.load(sys.stdin)
    outputs = [(one, output) for one in work["sets"] for output in one["outputs"]]
    begun = time.process_time()
    for _ in range(work["times"]):
        for one, output in outputs:
            checked = ast_checker(
                one["tools"], output["calls"], one["expected"], Language.PYTHON, one["category"], "any"
            )
            assert checked["valid"] == output["valid"], (output, checked)
    print((time.process_time() - begun) / (work["times"] * len(outputs)))


main()
