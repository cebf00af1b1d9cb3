#!/usr/bin/env python3
"""Tries reward models and the trainer on a device, beside `transformers`: parity, equal bits, load,
training and speed. Writes `gpu.json` and `gpu.md`, and fails if a part fails.

usage: prove.py [--device cuda:0|cpu] [--assay FILE] [--trainer FILE] [--minutes N] [--small]
                [--output FOLDER]

`make gpu-proof` builds a bundle that contains this script with the binaries. The machine needs a
driver, the libraries of CUDA 13, and Python with torch, transformers, tokenizers and safetensors.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
REFERENCE = ROOT / "graders/reward-model/tests/reference"
sys.path[:0] = [str(HERE), str(HERE / "gpu"), str(REFERENCE)]
os.environ["HF_HUB_OFFLINE"] = "1"

import bits  # noqa: E402
import load  # noqa: E402
import parity  # noqa: E402
import speed  # noqa: E402
import torch  # noqa: E402
import training  # noqa: E402
import transformers  # noqa: E402
from service import Service  # noqa: E402


class Deadline:
    """The end of a part."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def is_over(self):
        return time.monotonic() >= self.end


def machine(options):
    """What the results were measured on."""
    about = {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": options.device,
        "type": options.dtype,
    }
    if options.torch_device != "cpu":
        properties = torch.cuda.get_device_properties(options.torch_device)
        about["gpu"] = properties.name
        about["compute capability"] = f"{properties.major}.{properties.minor}"
        about["memory GiB"] = round(properties.total_memory / 2**30, 1)
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            about["driver"] = subprocess.run(query, capture_output=True, text=True).stdout.strip()
        except FileNotFoundError:
            about["driver"] = "unknown"
    version = subprocess.run([options.assay, "--version"], capture_output=True, text=True)
    about["assay"] = version.stdout.strip()
    return about


def table(rows):
    """Rows as a Markdown table."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[str(row.get(column, "")) for column in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu.json").write_text(json.dumps(results, indent=1) + "\n")
    text = ["# Reward models and the trainer on a device", ""]
    text += [f"- {name}: {value}" for name, value in results["machine"].items()]
    for name, part in results["parts"].items():
        text += ["", f"## {name} ({part['seconds']} s)", "", table(part["rows"])]
        text += [""] * bool(part["problems"]) + [f"- {problem}" for problem in part["problems"]]
    (folder / "gpu.md").write_text("\n".join(text) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--assay", default=str(ROOT / "bin/assay"))
    parser.add_argument("--trainer", default=str(ROOT / "bin/assay-trainer"))
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--small", action="store_true", help="small shapes, for a CPU")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("gpu-proof"))
    options = parser.parse_args()
    options.torch_device = options.device
    options.dtype = "f32" if options.device == "cpu" else "bf16"
    options.torch_dtype = parity.TYPES[options.dtype]
    options.reference = REFERENCE
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    # TensorFloat-32 would change what f32 means.
    torch.backends.cuda.matmul.allow_tf32 = False
    results = {"machine": machine(options), "parts": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = folder / "models"
        models.mkdir()

        def start():
            return Service(options.assay, models, options.device)

        def served(part):
            def run(deadline):
                with start() as service:
                    return part(options, service, models, deadline)

            return run

        # Each part may use this share of the time.
        parts = {
            "parity": (0.3, served(parity.run)),
            "bits": (0.1, lambda deadline: bits.run(options, start, models, deadline)),
            "load": (0.1, served(load.run)),
            "training": (0.15, lambda deadline: training.run(options, folder, deadline)),
            "speed": (0.35, lambda deadline: speed.run(options, folder, deadline)),
        }
        for part, (share, run) in parts.items():
            begun = time.monotonic()
            try:
                rows, problems = run(Deadline(60 * options.minutes * share))
            except Exception:  # the other parts are tried
                rows, problems = [], [traceback.format_exc()]
            seconds = round(time.monotonic() - begun)
            results["parts"][part] = {"seconds": seconds, "rows": rows, "problems": problems}
            print(f"{part}: {len(rows)} rows in {seconds} s", *problems, sep="\n  ", flush=True)
            write(results, options.output)
    failed = [
        part
        for part, result in results["parts"].items()
        if any(not problem.startswith("note: ") for problem in result["problems"])
    ]
    print(f"results in {options.output / 'gpu.md'}")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
