"""Compares the grader `instructions` with the published checkers, by id."""

import argparse
import collections
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]

# Changes of a response that keep some constraints and break others.
CHANGES = {
    "as it is": lambda text: text,
    "empty": lambda text: "",
    "twice": lambda text: f"{text} {text}",
    "upper case": str.upper,
    "without its end": lambda text: text[: len(text) // 2],
    "with commas": lambda text: text.replace(" ", ", "),
    "in lines": lambda text: text.replace(" ", "\n"),
    "in quotes": lambda text: f'"{text}"',
}


def cases():
    """The constraints of the golden cases, on changes of their responses."""
    rows = []
    for line in (ROOT / "tests/cases/instructions.jsonl").read_text().splitlines():
        case = json.loads(line)
        constraints = [one for one in case["task"]["constraints"] if "id" in one]
        if "<think>" in case["completion"]:
            continue
        for change in CHANGES.values():
            rows.append(
                {
                    "instruction_id_list": [one["id"] for one in constraints],
                    "kwargs": [one.get("kwargs", {}) for one in constraints],
                    "response": change(case["completion"]),
                }
            )
    return [row for row in rows if row["instruction_id_list"]]


def run(command, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default="python3", help="interpreter with the published packages")
    parser.add_argument("--rows", help="more rows, with their verdicts if they are known")
    parser.add_argument("--binary", help="the example `verdicts`, instead of running cargo")
    parser.add_argument("--differences", type=int, default=3, help="differences to print for an id")
    arguments = parser.parse_args()
    rows = cases()
    if arguments.rows:
        rows += [json.loads(line) for line in pathlib.Path(arguments.rows).read_text().splitlines()]
    cargo = ["cargo", "run", "--quiet", "--locked", "--package", "assay-instructions", "--example", "verdicts"]
    own = run([arguments.binary] if arguments.binary else cargo, rows)
    published = run([arguments.python, str(ROOT / "tests/instructions/published.py")], rows)
    counts = collections.defaultdict(collections.Counter)
    differences = collections.defaultdict(list)
    for row, mine, theirs in zip(rows, own, published):
        modes = {"strict": row.get("strict", theirs)}
        if "loose" in row:
            modes["loose"] = row["loose"]
        for mode, expected in modes.items():
            for at, name in enumerate(row["instruction_id_list"]):
                given = mine[mode][at]
                if expected[at] is None or given["verdict"] == "ungradable":
                    counts[name]["no verdict"] += 1
                    continue
                agrees = (given["verdict"] == "correct") == expected[at]
                counts[name]["same" if agrees else "different"] += 1
                if not agrees:
                    differences[name].append((mode, expected[at], row["response"], given))
    total = collections.Counter()
    for name in sorted(counts):
        total.update(counts[name])
        print(f"{name}: {counts[name]['same']} same, {counts[name]['different']} different, {counts[name]['no verdict']} without a verdict")
        for mode, expected, response, given in differences[name][: arguments.differences]:
            evidence = given.get("evidence", {}).get("constraints", [{}])[0]
            print(f"    {mode}, published {expected}: {response[:200]!r}\n        {json.dumps(evidence, ensure_ascii=False)[:300]}")
    print(f"all: {dict(total)}")


if __name__ == "__main__":
    main()
