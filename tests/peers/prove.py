#!/usr/bin/env python3
"""Tries reward models and the trainer on a device, beside `transformers`: parity, equal bits,
attention, load, training and speed. Writes `gpu.json` and `gpu.md`, and fails if a part fails.

usage: prove.py [--device cuda:0|cpu] [--assay FILE] [--trainer FILE] [--minutes N] [--small]
                [--output FOLDER] [--only PART] [--shapes NAME,NAME]

`make gpu-proof` builds a bundle that contains this script with the binaries. The machine needs a
driver, the libraries of CUDA 13, and Python with torch, transformers, tokenizers and safetensors.
Each part runs in a process of its own, which is stopped when its share of the time is over.
"""

import argparse
import json
import os
import pathlib
import platform
import signal
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

import attention  # noqa: E402
import bits  # noqa: E402
import load  # noqa: E402
import parity  # noqa: E402
import speed  # noqa: E402
import torch  # noqa: E402
import training  # noqa: E402
import transformers  # noqa: E402
from report import Deadline, Report  # noqa: E402
from service import Service  # noqa: E402

# The parts, and their shares of the time.
PARTS = {
    "parity": (0.19, parity.run),
    "bits": (0.05, bits.run),
    "attention": (0.12, attention.run),
    "load": (0.05, load.run),
    "training": (0.2, training.run),
    "speed": (0.39, speed.run),
}

# Seconds that a part may exceed its share before it is stopped: a step that began in time ends.
GRACE = 10


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
            told = subprocess.run(query, capture_output=True, text=True, timeout=30)
            about["driver"] = told.stdout.strip()
        except (FileNotFoundError, subprocess.TimeoutExpired):
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


def run_part(options):
    """Runs the part `options.part` in this process."""
    report = Report(options.report)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def start(**settings):
            return Service(options.assay, folder, options.device, **settings)

        options.start = start
        try:
            PARTS[options.part][1](options, folder, report, Deadline(options.seconds))
        except Exception:  # it is part of the report
            report.problem(traceback.format_exc())


def supervise(part, seconds, report):
    """Runs a part in a process of its own and returns what it found. Stops it with all processes
    that it started if it takes longer than `seconds`.
    """
    command = [sys.executable, __file__, *sys.argv[1:], "--part", part]
    command += ["--report", str(report), "--seconds", str(seconds)]
    child = subprocess.Popen(command, start_new_session=True)
    stopped = None
    try:
        status = child.wait(seconds + GRACE)
        if status:
            stopped = f"ended with status {status}"
    except subprocess.TimeoutExpired:
        stopped = "out of time: stopped"
    finally:
        # A service that it started may still run.
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
    try:
        found = json.loads(report.read_text())
    except (OSError, ValueError):
        found = {"rows": [], "problems": ["there is no report"]}
    found["problems"] += [stopped] * bool(stopped)
    if not found["rows"] and not found["problems"]:
        found["problems"].append("nothing was tried")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--assay", default=str(ROOT / "bin/assay"))
    parser.add_argument("--trainer", default=str(ROOT / "bin/assay-trainer"))
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--small", action="store_true", help="small shapes, for a CPU")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("gpu-proof"))
    parser.add_argument("--only", choices=PARTS, help="run this part only")
    parser.add_argument(
        "--shapes",
        type=lambda text: text.split(","),
        help="measure the speed of these models with the default settings only",
    )
    # Used by the script itself.
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--report", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.torch_device = options.device
    options.dtype = "f32" if options.device == "cpu" else "bf16"
    options.torch_dtype = parity.TYPES[options.dtype]
    options.reference = REFERENCE
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    # TensorFloat-32 would change what f32 means.
    torch.backends.cuda.matmul.allow_tf32 = False
    if options.part:
        run_part(options)
        return
    # A part that runs is stopped with this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    results = {"machine": machine(options), "parts": {}}
    with tempfile.TemporaryDirectory() as name:
        for part, (share, _) in PARTS.items():
            if options.only not in (None, part):
                continue
            begun = time.monotonic()
            report = pathlib.Path(name) / f"{part}.json"
            found = supervise(part, 60 * options.minutes * share, report)
            seconds = round(time.monotonic() - begun)
            results["parts"][part] = {"seconds": seconds, **found}
            rows, problems = found["rows"], found["problems"]
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
