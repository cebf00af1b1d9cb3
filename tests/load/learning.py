#!/usr/bin/env python3
"""Trains a policy model on the rewards of a running service and, as a control, on shuffled rewards.

usage: learning.py PATH/TO/assay PATH/TO/assay-trainer [--seeds N] [--steps N] [--svg FILE]

For each seed: random weights, a short warm-up on solutions, then training only on the service's
grades over HTTP; and the same from the same start with the rewards of each batch permuted, which
keeps their distribution but removes their meaning. Accuracy is that of the most likely completion
on 512 held-out prompts. Two runs at a time, one thread each.

Fails unless the mean accuracy over the seeds rises by at least 15 points and that of the control
changes by at most 3.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

CONFIG = pathlib.Path(__file__).parents[2] / "trainer" / "app" / "runs" / "sorting.toml"
LEAST, MOST = 0.15, 0.03
"""Minimum rise of the mean accuracy, and maximum change of the control."""

T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}
"""Quantiles of Student's distribution for 95 % intervals, by degrees of freedom."""


def serve(binary, folder):
    """Starts a service with a separate record and returns its address."""
    process = subprocess.Popen(
        [binary, "serve", "--listen", "127.0.0.1:0", "--database", "sqlite://learning.db"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    lines = iter(process.stderr)
    found = next(filter(None, (re.search(r"127\.0\.0\.1:\d+", line) for line in lines)), None)
    return process, found and f"http://{found.group()}"


def trainer(binary, *words):
    """Runs a command of the trainer on one thread."""
    done = subprocess.run(
        [binary, *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "RAYON_NUM_THREADS": "1"},
    )
    if done.returncode:
        command = " ".join(map(str, words))
        sys.exit(f"`{command}` exited with {done.returncode}: {done.stderr[-2000:]}")


def curve(folder):
    """Held-out accuracy by step."""
    lines = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return {
        line["step"]: line["held_out/accuracy"] for line in lines if "held_out/accuracy" in line
    }


def start(given, folder, seed):
    """The policy model of a seed after its warm-up."""
    trainer(
        given.trainer,
        "init",
        "--config",
        CONFIG,
        "--seed",
        seed,
        "--output",
        folder / f"random-{seed}",
    )
    trainer(
        given.trainer,
        "sft",
        "--config",
        CONFIG,
        "--set",
        f"seed={seed}",
        "--set",
        f"policy.path={folder}/random-{seed}",
        "--output",
        folder / f"start-{seed}",
    )


def train(given, folder, url, seed, shuffled):
    """Runs the trainer once and returns its learning curve."""
    name = f"{'shuffled' if shuffled else 'learning'}-{seed}"
    changes = [
        f"run={name}",
        f"seed={seed}",
        f"policy.path={folder}/start-{seed}",
        f"rewards.shuffle={str(shuffled).lower()}",
    ]
    changes += [f"training.steps={given.steps}"] if given.steps else []
    words = [word for change in changes for word in ("--set", change)]
    trainer(
        given.trainer,
        "train",
        "--config",
        CONFIG,
        "--server",
        url,
        "--output",
        folder / name,
        *words,
    )
    return curve(folder / name)


def interval(numbers):
    """Mean and half-width of its 95 % interval over seeds."""
    half = (
        T.get(len(numbers) - 1, 2.0) * statistics.stdev(numbers) / math.sqrt(len(numbers))
        if len(numbers) > 1
        else math.nan
    )
    return statistics.mean(numbers), half


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay", type=os.path.abspath)
    parser.add_argument("trainer", type=os.path.abspath)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="steps of a run, instead of those in the file")
    parser.add_argument("--svg", type=os.path.abspath, help="draw the curves into this file")
    given = parser.parse_args()
    began = time.monotonic()
    seeds = range(1, given.seeds + 1)
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        service, url = serve(given.assay, folder)
        try:
            list(pool.map(lambda seed: start(given, folder, seed), seeds))
            runs = [(seed, shuffled) for seed in seeds for shuffled in (False, True)]
            curves = dict(zip(runs, pool.map(lambda run: train(given, folder, url, *run), runs)))
        finally:
            service.terminate()
            service.wait()
        if given.svg:
            series = {
                "rewards": [folder / f"learning-{seed}" for seed in seeds],
                "shuffled rewards": [folder / f"shuffled-{seed}" for seed in seeds],
            }
            words = [
                word
                for label, places in series.items()
                for word in (
                    "--series",
                    f"{label}={','.join(f'{place}/metrics.jsonl' for place in places)}",
                )
            ]
            trainer(
                given.trainer,
                "plot",
                *words,
                "--title",
                "Held-out accuracy",
                "--output",
                given.svg,
            )
    print("held-out accuracy    seed  warm-up      end     rise")
    rises = {False: [], True: []}
    for (seed, shuffled), points in curves.items():
        first, last = points[min(points)], points[max(points)]
        rises[shuffled].append(last - first)
        print(
            f"{'shuffled rewards' if shuffled else 'rewards':<20} {seed:>4}  {first:>7.3f}  {last:>7.3f}  {last - first:>+7.3f}"
        )
    for shuffled, found in rises.items():
        mean, half = interval(found)
        print(
            f"{'shuffled rewards' if shuffled else 'rewards':<20} mean rise {mean:+.3f} +- {half:.3f} (95 %, {len(found)} seeds)"
        )
    print(f"{time.monotonic() - began:.0f} s")
    learned, control = statistics.mean(rises[False]), statistics.mean(rises[True])
    assert learned >= LEAST, f"accuracy rose by {learned:.3f}, but must by at least {LEAST}"
    assert abs(control) <= MOST, (
        f"accuracy of the control changed by {control:.3f}, but may by at most {MOST}"
    )


if __name__ == "__main__":
    main()
