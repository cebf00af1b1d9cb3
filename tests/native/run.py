#!/usr/bin/env python3
"""Compares verdicts of Python programs with the results of native CPython.

usage: run.py PATH/TO/assay [--native PYTHON] [--short] [--part NAME]...
       run.py --native PYTHON --record

Parts: `programs` must get the verdicts that correspond to their native results; `changes` are the
same programs with one changed expectation, none of which may be accepted; `lent` is a table of
special methods and library objects passed between a test and a program; `attacks` are hostile
programs. `--native` also runs the programs in that CPython 3.13, instead of only using recorded
results. `--short` takes a third of each part. Exits with 1 if anything differs without a documented
reason.
"""

import argparse
import sys

sys.dont_write_bytecode = True

import attacks  # noqa: E402, modules beside this one
import changes  # noqa: E402
import cpython  # noqa: E402
import grading  # noqa: E402
import lent  # noqa: E402
import programs  # noqa: E402

PARTS = ["programs", "changes", "lent", "attacks"]

# `--short` takes every entry of this many. Rows of the table come in pairs, so the number is odd.
SHORT = 3


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary", nargs="?")
    parser.add_argument(
        "--native", metavar="PYTHON", help="a CPython 3.13 to run the programs in as well"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="write that CPython's results into the files; grades nothing",
    )
    parser.add_argument("--short", action="store_true", help=f"one entry of {SHORT} of every part")
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="only this part; may be repeated"
    )
    given = parser.parse_args()
    if given.record and not given.native:
        parser.error("`--record` needs `--native PYTHON`")
    if not given.record and not given.binary:
        parser.error("pass the path of the `assay` binary, or `--record`")
    return given


def main():
    given = arguments()
    entries = programs.load()
    if given.record:
        programs.record(given.native, entries)
        changes.record(given.native, programs.load())
        return 0
    step = SHORT if given.short else 1
    chosen = entries[::step]
    count = 0
    for part in given.part or PARTS:
        problems = []
        print(part, flush=True)
        if part == "programs":
            if given.native:
                found = programs.check_natively(given.native, chosen)
                print(
                    f"  {cpython.version(given.native)}: {len(found)} of {len(chosen)} differ from the record"
                )
                problems += found
            results = grading.grade(given.binary, [programs.item(entry) for entry in chosen])
            problems += programs.report(chosen, results)
        elif part == "changes":
            problems += changes.run(given.binary, entries, step)
        elif part == "lent":
            problems += lent.run(given.binary, step)
        else:
            problems += attacks.check_natively(given.native) if given.native else []
            problems += attacks.run(given.binary, step)
        for problem in problems:
            print(f"  PROBLEM {problem}")
        count += len(problems)
    print(f"{count} problems")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
