"""Scores of every architecture and head in every data type, compared with `transformers` on the
same device.
"""

import json
import pathlib

import torch
from cases import CASES
from compute import expected
from service import DTYPES
from written_cases import inputs, largest_distance, write_model

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}

# Largest difference from `transformers` in f32 on a CPU.
BOUND = 1e-4
# In 16 bits both sides round differently: ours may be this much further off than theirs at worst.
FACTOR = 2.0


def run(options, folder, report, deadline):
    """One row for each data type."""
    reference = pathlib.Path(options.reference)
    committed = json.loads((reference / "cases.json").read_text())["cases"]
    by_name = {case["name"]: case for case in committed}
    cases = [case | by_name[case["name"]] for case in CASES]
    for case in cases:
        (folder / case["name"]).mkdir()
        write_model(case, folder / case["name"])
    with options.start() as service:
        for dtype in DTYPES:
            compare(dtype, cases, options, service, report, deadline)


def compare(dtype, cases, options, service, report, deadline):
    """The row of a data type."""
    ours, theirs, compared = 0.0, 0.0, 0
    for case in cases:
        if deadline.is_over():
            report.problem(f"{dtype}: out of time after {compared} of {len(cases)} cases")
            break
        try:
            service.load("parity", case["name"], dtype=dtype)
            found = service.score("parity", inputs(case))
            own = largest_distance(case, case["expected"], found)
            wanted = expected(case, options.torch_device, TYPES[dtype])
            other = largest_distance(case, case["expected"], [as_result(one) for one in wanted])
        except Exception as error:  # one case must not hide the others
            report.problem(f"{case['name']} in {dtype}: {error}")
            continue
        compared += 1
        ours, theirs = max(ours, own), max(theirs, other)
        if dtype == "f32" and own > BOUND:
            report.problem(f"{case['name']} in f32: {own:.1e} from the reference")
    # The largest of some cases only would be an accident of these cases.
    if dtype != "f32" and compared == len(cases) and ours > FACTOR * theirs:
        report.problem(f"{dtype}: {ours:.1e} from the reference, transformers {theirs:.1e}")
    report.row(
        {
            "type": dtype,
            "cases": compared,
            "largest distance": f"{ours:.1e}",
            "of transformers": f"{theirs:.1e}",
        }
    )


def as_result(outputs):
    """Outputs of `transformers` in the form of a result of `assay`."""
    return {("raw" if kind == "scalar" else kind): value for kind, value in outputs.items()}
