#!/usr/bin/env python3
"""Compares the mathematical functions of the Python guest with a native Python's, bit for bit.

    python3 tests/native/mathematics.py BIN [--native PYTHON] [--arguments N]

BIN is the `assay` binary; its Python image must be installed. The same program
runs in both: in the guest through `BIN grade`, as tests whose expected output
is a hash of a block of native results. Where a hash differs, the block is
graded again argument by argument. A NaN equals any NaN. Exits with 1 when a
function's share of equal bits is below the one in `DOCUMENTED`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Percent of arguments with equal bits; 100 for every function that is not here.
DOCUMENTED = {
    # CPython 3.13.5 multiplies by exp(-x) where 3.13.0 divides by exp(x): 100 with a native Python
    # of the guest's version.
    "complex ** complex": 80.0,
}
BLOCK = 1_000
# A function with more differing blocks than this gets its share from these alone: a task has at
# most 10,000 tests.
EXPANDED = 10

PROGRAM = r'''
import cmath, hashlib, math, operator, random, statistics, struct

EDGES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0, 1e22, math.inf, math.nan, 5e-324,
         2.2250738585072014e-308, 1.7976931348623157e308, 0.9999999999999999, 1.0000000000000002,
         709.782712893384, 745.1332191019412]


def below(draw, limit):
    return int(draw.random() * limit)


def near_quarter_turns(draw):
    x = (1 + below(draw, 200_000)) * (math.pi / 2)
    return math.nextafter(math.nextafter(x, draw.random() * 2 * x), draw.random() * 2 * x)


SIZES = [
    lambda draw: abs(struct.unpack("<d", draw.randbytes(8))[0]),
    lambda draw: draw.random(),
    lambda draw: draw.random() * 10,
    lambda draw: 0.9 + draw.random() * 0.2,
    lambda draw: draw.random() * 1000,
    near_quarter_turns,
    lambda draw: math.ldexp(1 + draw.random(), below(draw, 60) - 30),
    lambda draw: math.ldexp(draw.random(), -1022 - below(draw, 52)),
    lambda draw: float(below(draw, 2_000)),
    lambda draw: below(draw, 1_000_000) / (1 + below(draw, 1_000)),
    lambda draw: EDGES[below(draw, len(EDGES))],
    lambda draw: draw.random() * 2,
]


def size(draw):
    return SIZES[below(draw, len(SIZES))](draw)


def real(draw):
    return size(draw) if draw.random() < 0.6 else -size(draw)


def positive(draw):
    return size(draw) if draw.random() < 0.9 else -size(draw)


def above_one(draw):
    return 1 + size(draw)


def unit(draw):
    return 2 * draw.random() - 1 if draw.random() < 0.7 else real(draw)


def point(draw):
    return complex(real(draw), real(draw))


def small(draw):
    return below(draw, 81) - 40


def integer(draw):
    return below(draw, 2001) - 1000


def exponent(draw):
    return 40 * draw.random() - 20 if draw.random() < 0.7 else real(draw)


def large(draw):
    return draw.getrandbits(1 + below(draw, 3000)) + 1


def listed(draw):
    return [real(draw) for _ in range(3)]


ONE = {
    real: "sin cos tan atan sinh cosh tanh asinh exp exp2 expm1 cbrt erf erfc gamma lgamma degrees radians modf frexp ulp",
    positive: "log log2 log10 log1p sqrt",
    above_one: "acosh",
    unit: "asin acos atanh",
}
TABLE = {"math." + name: ((draw,), getattr(math, name, None)) for draw, names in ONE.items() for name in names.split()}
for name in "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh phase polar".split():
    TABLE["cmath." + name] = ((point,), getattr(cmath, name))
TABLE.update({
    "math.atan2": ((real, real), math.atan2),
    "math.hypot": ((real, real), math.hypot),
    "math.hypot of three": ((real, real, real), math.hypot),
    "math.dist": ((listed, listed), math.dist),
    "math.fmod": ((real, real), math.fmod),
    "math.remainder": ((real, real), math.remainder),
    "math.fma": ((real, real, real), getattr(math, "fma", None)),
    "math.pow": ((positive, exponent), math.pow),
    "math.log with a base": ((positive, above_one), math.log),
    "math.log of an integer": ((large,), math.log),
    "math.ldexp": ((real, integer), math.ldexp),
    "math.nextafter": ((real, real), math.nextafter),
    "math.sumprod": ((listed, listed), getattr(math, "sumprod", None)),
    "cmath.rect": ((real, real), cmath.rect),
    "abs of complex": ((point,), abs),
    "float ** float": ((positive, exponent), operator.pow),
    "float ** int": ((real, small), operator.pow),
    "int ** int": ((integer, small), operator.pow),
    "int ** float": ((integer, exponent), operator.pow),
    "complex ** complex": ((point, point), operator.pow),
    "complex ** int": ((point, small), operator.pow),
    "complex * complex": ((point, point), operator.mul),
    "complex / complex": ((point, point), operator.truediv),
    "float % float": ((real, real), operator.mod),
    "float // float": ((real, real), operator.floordiv),
    "round": ((real, small), round),
    "statistics.NormalDist.cdf": ((real,), statistics.NormalDist().cdf),
    "statistics.NormalDist.pdf": ((real,), statistics.NormalDist().pdf),
    "statistics.NormalDist.inv_cdf": ((lambda draw: draw.random(),), statistics.NormalDist().inv_cdf),
})
DISTRIBUTIONS = {
    "gauss": (0, 1), "normalvariate": (0, 1), "lognormvariate": (0, 1), "expovariate": (1.5,), "vonmisesvariate": (0, 4),
    "gammavariate": (2.5, 1), "betavariate": (2, 3), "paretovariate": (3,), "weibullvariate": (1, 1.5), "triangular": (0, 1),
}
NAMES = [name for name, (_, function) in TABLE.items() if function] + ["random." + name for name in DISTRIBUTIONS]


def bits(value):
    if isinstance(value, tuple):
        return ",".join(map(bits, value))
    if isinstance(value, complex):
        return bits(value.real) + "+" + bits(value.imag)
    return value.hex() if isinstance(value, float) else str(value)


def results(name, block, count):
    draw = random.Random(f"{name} {block}")
    if name.startswith("random."):
        method = name.partition(".")[2]
        for _ in range(count):
            yield DISTRIBUTIONS[method], bits(getattr(draw, method)(*DISTRIBUTIONS[method]))
        return
    kinds, function = TABLE[name]
    for _ in range(count):
        arguments = [kind(draw) for kind in kinds]
        try:
            answer = bits(function(*arguments))
        except (ArithmeticError, ValueError) as error:
            answer = type(error).__name__
        yield arguments, answer


def answer(line):
    """`NAME|BLOCK|COUNT` gives a hash of the block's results, and `NAME|BLOCK|COUNT|INDEX` one of them."""
    name, block, count, *index = line.split("|")
    found = list(results(name, int(block), int(count)))
    if index:
        return "{} -> {}".format(*found[int(index[0])])
    return hashlib.sha256("\n".join(result for _, result in found).encode()).hexdigest()
'''
IN_GUEST = PROGRAM + "\nprint(answer(input()))\n"
NATIVELY = (
    PROGRAM
    + """
import sys
for line in sys.stdin:
    print(answer(line.rstrip("\\n")) if line != "\\n" else "|".join(NAMES))
"""
)


class Failed(Exception):
    """A run that gave no results; the text says why."""


def natively(python, lines):
    done = subprocess.run(
        [python, "-I", "-c", NATIVELY],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
    )
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != len(lines):
        raise Failed(f"{python} failed:\n{done.stderr.strip()}")
    return answers


def in_guest(binary, questions, answers):
    """For each list of lines, whether the guest gives the native answer to each of them, and the
    first failure.
    """
    with tempfile.TemporaryDirectory() as folder:
        items, results = Path(folder) / "items.jsonl", Path(folder) / "results.jsonl"
        with open(items, "w") as file:
            for number, (lines, expected) in enumerate(zip(questions, answers)):
                tests = [
                    {"stdin": line + "\n", "stdout": text + "\n"}
                    for line, text in zip(lines, expected)
                ]
                limits = {"seconds": 60, "memory_mb": 256, "output_kb": 64}
                task = {"type": "code", "language": "python", "tests": tests, "limits": limits}
                task.update(score="fraction", checker="exact")
                file.write(
                    json.dumps(
                        {"id": str(number), "completion": f"```python\n{IN_GUEST}```", "task": task}
                    )
                    + "\n"
                )
        done = subprocess.run(
            [binary, "grade", str(items), "-o", str(results)], capture_output=True, text=True
        )
        if not results.exists():
            raise Failed(f"{binary} grade failed:\n{done.stderr.strip()}")
        graded = [json.loads(line) for line in results.read_text().splitlines()]
    found = []
    for result, lines in zip(graded, questions):
        evidence = result.get("evidence") or {}
        verdicts = [test[0] for test in evidence.get("results") or []]
        unexpected = set(verdicts) - {"accepted", "wrong_answer"}
        if len(verdicts) != len(lines) or unexpected:
            raise Failed(f"the guest gave no results for {lines[0]}: {json.dumps(result)[:2000]}")
        found.append(
            ([verdict == "accepted" for verdict in verdicts], evidence.get("first_failure"))
        )
    return found


def block_line(name, block, arguments):
    return f"{name}|{block}|{min(BLOCK, arguments - block * BLOCK)}"


def differing(binary, python, name, blocks, arguments):
    """How many of the blocks' arguments give other bits, of how many, and the first of them as both
    Pythons print it.
    """
    chosen = blocks[:EXPANDED]
    lines = []
    for block in chosen:
        line = block_line(name, block, arguments)
        lines += [f"{line}|{index}" for index in range(int(line.rpartition("|")[2]))]
    expected = natively(python, lines)
    equal, _ = in_guest(binary, [lines], [expected])[0]
    first = equal.index(False) if False in equal else None
    return equal.count(False), len(lines), None if first is None else expected[first]


def compare(binary, python, arguments, only):
    names = [name for name in natively(python, [""])[0].split("|") if not only or name in only]
    blocks = range(-(-arguments // BLOCK))
    questions = [[block_line(name, block, arguments) for block in blocks] for name in names]
    flat = natively(python, [line for lines in questions for line in lines])
    answers = [flat[start : start + len(blocks)] for start in range(0, len(flat), len(blocks))]
    below = 0
    print(f"{'function':32} {'arguments':>9} {'equal bits':>11}")
    for name, (equal, _) in zip(names, in_guest(binary, questions, answers)):
        wrong = [block for block in blocks if not equal[block]]
        share, note = 100.0, ""
        if wrong:
            count, looked_at, example = differing(binary, python, name, wrong, arguments)
            share = 100.0 - 100.0 * count / looked_at * len(wrong) / len(blocks)
            note = f"  natively {example}"
        if share < DOCUMENTED.get(name, 100.0):
            below += 1
            note += f"  (below {DOCUMENTED.get(name, 100.0)} %)"
        print(f"{name:32} {arguments:>9} {share:>9.4f} %{note}")
    return below


def main():
    parser = argparse.ArgumentParser(
        description="Compare the guest's mathematical functions with a native Python's."
    )
    parser.add_argument(
        "binary", metavar="BIN", help="the assay binary, with the Python image installed"
    )
    parser.add_argument(
        "--native",
        default=sys.executable,
        metavar="PYTHON",
        help="native Python (default: this one)",
    )
    arguments_help = "arguments of each function (default: %(default)s)"
    parser.add_argument("--arguments", type=int, default=100_000, metavar="N", help=arguments_help)
    parser.add_argument(
        "--only", nargs="*", metavar="FUNCTION", help="compare these functions alone"
    )
    options = parser.parse_args()
    if options.arguments < 1:
        parser.error("--arguments must be at least 1")
    try:
        below = compare(options.binary, options.native, options.arguments, options.only)
    except (Failed, OSError) as error:
        sys.exit(f"mathematics.py: {error}")
    if below:
        sys.exit(f"{below} functions are below their documented share")


if __name__ == "__main__":
    main()
