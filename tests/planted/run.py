"""Checks datasets with planted defects, and counts those found and the alarms on clean rows.

usage: run.py PATH/TO/assay [--seed N] [--rows N] [--keep FOLDER]

Each file has clean rows of one shape, and rows with one defect each. A defect is found if one of
the codes of its kind is reported at its line. The check fails if less than 85 % are found, a kind
is never found, or more than 4 of 1,000 clean rows have findings.
"""

import argparse
import copy
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from defects import BENCHMARK, KINDS
from rows import OPTIONS, SHAPES

EACH = 2  # rows with a defect of each kind


def write(folder, shape, count, seed):
    """Writes a file; returns the kind of the defect by line, and the lines of clean rows."""
    draw = random.Random(f"{seed} {shape}")
    clean = [SHAPES[shape](draw, number) for number in range(count)]
    lines = [json.dumps(row).encode() for row in clean]
    if shape == "words":
        # A column of rollouts must exist in rows that are not about rollouts, too.
        lines = [json.dumps({**row, "rolls": []}).encode() for row in clean]
    planted, number = {}, count
    for kind in (kind for kind in KINDS if kind[0] == shape):
        for _ in range(EACH):
            number += 1
            row, other = SHAPES[shape](draw, number), copy.deepcopy(clean[number % count])
            changed = kind[3](row, draw, other)
            planted[len(lines) + 1] = kind
            is_bytes = isinstance(changed, bytes)
            lines.append(changed if is_bytes else json.dumps(row, ensure_ascii=False).encode())
    (folder / f"{shape}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return planted, range(1, count + 1)


def check(binary, folder, shape):
    command = [binary, "check", f"{shape}.jsonl", "--format", "json", "--max-findings", "0", *OPTIONS.get(shape, [])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    found = {}
    for finding in json.loads(done.stdout)["findings"]:
        if finding["code"] != "unchecked":
            found.setdefault(finding["line"], []).append((finding["code"], finding["message"]))
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=72, help="clean rows of each shape")
    parser.add_argument("--keep", type=Path, help="folder to write the datasets to")
    arguments = parser.parse_args()
    rows = clean_rows = alarms = found_rows = 0
    missed, other = [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        (folder / "benchmark.jsonl").write_text(json.dumps({"question": BENCHMARK}) + "\n")
        for shape in SHAPES:
            # Rows of another kind are only found among many of one kind.
            count = max(arguments.rows, 100) if shape == "sums" else arguments.rows
            planted, clean = write(folder, shape, count, arguments.seed)
            found = check(arguments.binary.resolve(), folder, shape)
            clean_rows += len(clean)
            for line in clean:
                if line in found:
                    alarms += 1
                    print(f"alarm: {shape}.jsonl:{line}: {found[line]}")
            by_kind = {}
            for line, (_, name, codes, _) in planted.items():
                rows += 1
                hit = bool(codes & {code for code, _ in found.get(line, [])})
                found_rows += hit
                by_kind[name] = by_kind.get(name, False) or hit
                if not hit:
                    other.append(f"{shape}.jsonl:{line}: {name}: {found.get(line, 'no finding')}")
            missed += [f"{shape}: {name}" for name, hit in by_kind.items() if not hit]
    print("\n".join(other))
    kinds = len(KINDS)
    print(f"{found_rows} of {rows} planted defects found ({100 * found_rows / rows:.1f} %), "
          f"{kinds - len(missed)} of {kinds} kinds; {alarms} of {clean_rows} clean rows with findings")
    if missed:
        print("never found:", "; ".join(missed))
    sys.exit(missed != [] or found_rows < 0.85 * rows or alarms * 250 > clean_rows)


if __name__ == "__main__":
    main()
