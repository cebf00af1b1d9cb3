"""The types of `main` that GCC accepts besides the usual two. WebAssembly checks the types of
calls, so programs with such a `main` are linked with an object that calls it (`c/main.c`).
"""

from libc import TARGET
from toolchain import Unit

# The name of the function in objects, its parameters, and the arguments of its call.
FORMS = (
    ("main", "", ""),
    ("main", "int", "count"),
    ("main", "int, char **", "count, arguments"),
    ("main", "int, char **, char **", "count, arguments, environment"),
    ("__main_argc_argv", "int, char **", "count, arguments"),
)

# Types of results, and how the status is made of one. GCC leaves the status of a `main` without
# result undefined. Here it is 0.
RESULTS = {"void": "(%s, 0)", "int": "%s", "long": "(int)%s"}

WASM = {"int": "i32", "long": "i64", "char **": "i64", "void": ""}


def signature(name, parameters, result):
    """The key by which the host chooses the object of a program."""
    types = ",".join(WASM[one] for one in parameters.split(", ") if one)
    return f"{name}({types})->{WASM[result]}"


def objects(steps):
    """The objects, by the signature of `main`."""
    found = {}
    for name, parameters, arguments in FORMS:
        for result, status in RESULTS.items():
            # The start object handles these.
            if result == "int" and (name, parameters) in (
                ("main", ""),
                ("__main_argc_argv", "int, char **"),
            ):
                continue
            values = {
                "NAME": f'"{name}"',
                "PARAMETERS": parameters or "void",
                "ARGUMENTS": arguments,
                "RESULT": result,
                "STATUS(call)": status % "(call)",
            }
            flags = tuple(f"-D{key}={value}" for key, value in values.items())
            unit = Unit("main.c", TARGET + flags, own=True)
            found[signature(name, parameters, result)] = steps.clang(unit, ()).read_bytes()
    return found
