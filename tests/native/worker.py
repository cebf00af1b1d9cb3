"""Runs one call or assert natively: program and test in one process, in two modules, as in the
grader.

usage: worker.py FILE, which is JSON: prelude, program, test_setup, test, and the file the result
goes to
"""

import asyncio
import builtins
import inspect
import json
import sys
import types


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    sys.argv[:] = ["test.py"]
    solution = types.ModuleType("solution")
    sys.modules["solution"] = solution
    for name in ("prelude", "program"):
        exec(compile(asked[name], f"{name}.py", "exec"), solution.__dict__)
    test = asked["test"]
    found = (
        call(solution, test)
        if "call" in test
        else judge(solution, asked["test_setup"], test["assert"])
    )
    with open(asked["result"], "w", encoding="utf-8") as file:
        json.dump(found, file)


def call(solution, test):
    name = test["call"]
    function = getattr(solution, name, None) or getattr(solution.Solution(), name)
    value = function(*test.get("args", []), **test.get("kwargs", {}))
    if inspect.iscoroutine(value):
        value = asyncio.run(value)
    return {"returns": plain(value)}


def plain(value):
    """A value as JSON writes it; values that JSON cannot represent are refused."""
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else json.dumps(key): plain(held)
            for key, held in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a test cannot expect a {type(value).__name__}")


def judge(solution, setup, text):
    module = types.ModuleType("__main__")
    hidden = vars(types.ModuleType(""))
    module.__dict__.update(
        {name: value for name, value in vars(solution).items() if name not in hidden}
    )
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    try:
        for name, part in (("setup.py", setup), ("test.py", text)):
            exec(compile(part, name, "exec"), module.__dict__)
    except SystemExit as error:
        return {"raised": f"exit {error.code}"} if error.code else {"passed": True}
    except BaseException as error:
        return {"raised": f"{type(error).__name__}: {error}"}
    return {"passed": True}


main()
