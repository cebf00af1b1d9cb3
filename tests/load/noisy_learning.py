#!/usr/bin/env python3
"""Trains a policy model on noisy verdicts, and measures the effect of corrections and appeals on
its true accuracy.

usage: noisy_learning.py PATH/TO/assay-measure PATH/TO/assay-trainer [--seeds N] [--json FILE]
                         [--svg FILE] [--folder DIR] [--set SECTION.KEY=VALUE]

A policy model of 0.1 million parameters learns to sort five digits from one running service over
HTTP, two runs at a time. Its grader accepts a tenth of the wrong answers and rejects three tenths
of the right ones, independently for each completion. For each seed there are four runs, from the
same start, on the same prompts in the same order, with the same training settings:

clean      correct verdicts
noisy      the noisy verdicts
corrected  the same, divided by J: the advantage is the service's statistic `gain`, with rates
           calibrated on labelled answers
appealed   the same as noisy, with a quarter of the negatives and a twentieth of the positives
           sent to the clean grader, whose verdict is final

All four use the advantages of the service unchanged, so nothing rescales them. Policy models are
evaluated without noise on held-out lists: accuracy is the share of right completions, sampled as in
training. The primary metric was chosen in advance: the difference of the final accuracy from
`noisy` by seed.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

CONFIG = pathlib.Path(__file__).parents[2] / "trainer" / "app" / "runs" / "sorting.toml"
FALSE_POSITIVES, FALSE_NEGATIVES = 0.1, 0.3
APPEALED_NEGATIVES, AUDITED_POSITIVES = 0.25, 0.05
TRAIN, HELD_OUT, LABELLED = 20_000, 512, 400

CHANGES = [
    # After this warm-up, about a quarter of the completions are right. With fewer, a tenth of false
    # positives leaves almost no signal.
    "warmup.steps=60",
    "training.steps=150",
    "evaluation.every=25",
    f"evaluation.prompts={HELD_OUT}",
    "evaluation.samples=4",
    'objective.advantage={ estimator = "service" }',
    "objective.penalties=[]",
    "rewards.number_samples=true",
]
"""Settings of all runs that differ from the file."""

STUDENT = {
    2: 12.706,
    3: 4.303,
    4: 3.182,
    5: 2.776,
    6: 2.571,
    7: 2.447,
    8: 2.365,
    9: 2.306,
    10: 2.262,
}
"""Quantiles of Student's distribution for 95 % intervals, by number of values."""

SERVICE = f"""
[channels]
refresh_seconds = 0
prior_checks = 0

[policies.appealed]
summary = "a quarter of the negatives goes to the clean grader"

[[policies.appealed.appeals]]
judge = {{ type = "structured", extract = "whole", expected = "{{{{ task.of.expected }}}}" }}
negatives = {APPEALED_NEGATIVES}
positives = {AUDITED_POSITIVES}
overturn = true
"""


@dataclasses.dataclass(frozen=True)
class Arm:
    """How the verdicts of a run are produced."""

    false_positives: float
    false_negatives: float
    settings: tuple = ()
    # Shares of the wrong verdicts that the judge corrects.
    mended_positives: float = 0.0
    mended_negatives: float = 0.0

    def rates(self):
        """Both rates after the judge, and J."""
        rho0 = self.false_positives * (1 - self.mended_positives)
        rho1 = self.false_negatives * (1 - self.mended_negatives)
        return rho0, rho1, 1 - rho0 - rho1

    def worth(self, right):
        """Share of the completions that would be as informative without noise, where `right` is the
        share of right completions (docs/NOISE.md).
        """
        rho0, _, j = self.rates()
        passed = rho0 + j * right
        # Without variance there is no signal that noise could reduce.
        return j * j * right * (1 - right) / (passed * (1 - passed)) if 0 < passed < 1 else 1.0


ARMS = {
    "clean": Arm(0, 0),
    "noisy": Arm(FALSE_POSITIVES, FALSE_NEGATIVES),
    "corrected": Arm(FALSE_POSITIVES, FALSE_NEGATIVES, ("rewards.statistic=gain",)),
    "appealed": Arm(
        FALSE_POSITIVES,
        FALSE_NEGATIVES,
        ("rewards.policy=appealed",),
        AUDITED_POSITIVES,
        APPEALED_NEGATIVES,
    ),
}


def lists():
    """Training and held-out lists. No training list is a permutation of a held-out list."""
    draw = random.Random(1)
    train, held_out = {}, {}
    while len(train) < TRAIN or len(held_out) < HELD_OUT:
        numbers = tuple(draw.randrange(10) for _ in range(5))
        in_tenth = hashlib.sha256(bytes(sorted(numbers))).digest()[0] < 26
        side, most = (held_out, HELD_OUT) if in_tenth else (train, TRAIN)
        if len(side) < most:
            side[numbers] = None
    return list(train), list(held_out)


def text(numbers):
    return f"[{','.join(map(str, numbers))}]"


def clean_task(numbers):
    return {"type": "structured", "extract": "whole", "expected": sorted(numbers)}


def noisy_task(arm, seed, numbers):
    return {
        "type": "noisy",
        "false_positives": arm.false_positives,
        "false_negatives": arm.false_negatives,
        "seed": seed,
        "of": clean_task(numbers),
    }


def write_prompts(path, all_numbers, task, channel=None):
    with path.open("w", encoding="ascii") as file:
        for numbers in all_numbers:
            line = {
                "prompt": text(numbers) + "<",
                "task": task(numbers),
                "prompt_key": text(numbers),
                "channel": channel,
                "solution": text(sorted(numbers)),
            }
            file.write(json.dumps(line) + "\n")


class Service:
    """A server with a separate folder."""

    def __init__(self, binary, folder):
        (folder / "assay.toml").write_text(SERVICE, encoding="ascii")
        log = folder / "service.log"
        with log.open("w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [binary, "noisy", "--listen", "127.0.0.1:0", "--database", "sqlite://noisy.db"],
                cwd=folder,
                stderr=file,
                env={**os.environ, "NO_COLOR": "1"},
            )
        while not (
            found := re.search(
                r"ready to grade.*?(127\.0\.0\.1:\d+)\s", log.read_text(encoding="utf-8")
            )
        ):
            if self.process.poll() is not None:
                sys.exit(f"the service exited:\n{log.read_text(encoding='utf-8')}")
            time.sleep(0.05)
        self.url = "http://" + found[1]

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def calibrate(self, seed, all_numbers):
        """Measures the rates of the grader on labelled answers, half of them right, for the channel
        of the corrected run.
        """

        def item(at, numbers, right):
            *others, last = sorted(numbers)
            answer = [*others, last if right else (last + 1 + at % 9) % 10]
            return {
                "prompt": text(numbers) + "<",
                "completion": text(answer),
                "channel": "labelled",
                "meta": {"sample": at},
                "task": noisy_task(ARMS["corrected"], seed, numbers),
            }

        passed = {}
        for right in (True, False):
            items = [item(at, numbers, right) for at, numbers in enumerate(all_numbers[:LABELLED])]
            passed[right] = sum(
                result["pass"] for result in self.call("/v1/grade", {"items": items})["results"]
            )
        self.call(
            "/v1/channels/calibrations",
            {
                "channel": f"noisy/corrected-{seed}",
                "version": 1,
                "method": "labels",
                "right": LABELLED,
                "right_rejected": LABELLED - passed[True],
                "wrong": LABELLED,
                "wrong_passed": passed[False],
            },
        )

    def channels(self):
        """The channel of each run, as the service reports it."""
        reports = self.call("/v1/channels")["channels"]
        return {report["channel"].removeprefix("noisy/"): report for report in reports}

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Experiment:
    """The files of an experiment, and its commands."""

    def __init__(self, trainer, folder, changes):
        self.trainer, self.folder = trainer, folder
        self.train, self.held_out = lists()
        self.changes = [*CHANGES, f"evaluation.path={folder}/held-out.jsonl", *changes]
        write_prompts(folder / "held-out.jsonl", self.held_out, clean_task)
        write_prompts(folder / "solutions.jsonl", self.train, clean_task)

    def command(self, *words):
        """Runs the trainer on one thread. Returns its output."""
        words = [str(word) for word in words]
        done = subprocess.run(
            [self.trainer, *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "RAYON_NUM_THREADS": "1"},
        )
        if done.returncode:
            raise RuntimeError(
                f"`{' '.join(words)}` exited with {done.returncode}: {done.stderr[-2000:]}"
            )
        return done.stdout

    def run(self, command, output, changes, *words):
        """Runs a command with the configuration file and changed settings."""
        changes = [f"--set={change}" for change in (*self.changes, *changes)]
        self.command(
            command, "--config", CONFIG, "--output", self.folder / output, *changes, *words
        )

    def data(self, name):
        # Replace the whole section, which has either families of problems or a path.
        return f'data={{ path = "{self.folder}/{name}.jsonl" }}'

    def start(self, seed):
        """The policy model from which all runs of a seed start, trained on solutions only."""
        drawn = self.folder / f"random-{seed}"
        self.command("init", "--config", CONFIG, "--seed", seed, "--output", drawn)
        self.run(
            "sft", f"start-{seed}", [f"seed={seed}", f"policy.path={drawn}", self.data("solutions")]
        )

    def learn(self, url, name, seed):
        """Runs the trainer once and returns the held-out accuracy by step."""
        arm, run = ARMS[name], f"{name}-{seed}"
        write_prompts(
            self.folder / f"{run}.jsonl",
            self.train,
            lambda numbers: noisy_task(arm, seed, numbers),
            run,
        )
        changes = [
            f"run={run}",
            f"seed={seed}",
            f"policy.path={self.folder}/start-{seed}",
            self.data(run),
            *arm.settings,
        ]
        began = time.monotonic()
        self.run("train", run, changes, "--server", url)
        lines = [
            json.loads(line)
            for line in self.metrics(name, seed).read_text(encoding="utf-8").splitlines()
        ]
        curve = [
            (line["step"], line["held_out/accuracy"])
            for line in lines
            if "held_out/accuracy" in line
        ]
        print(
            f"{run}: from {curve[0][1]:.3f} to {curve[-1][1]:.3f} in {time.monotonic() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        return curve

    def metrics(self, name, seed):
        return self.folder / f"{name}-{seed}" / "metrics.jsonl"

    def plot(self, seeds, path):
        series = [
            f"--series={name}={','.join(str(self.metrics(name, seed)) for seed in seeds)}"
            for name in ARMS
        ]
        self.command(
            "plot",
            *series,
            "--title",
            "True accuracy on held-out lists, by source of verdicts",
            "--output",
            path,
        )


def interval(values):
    """The mean and the half-width of its interval."""
    return statistics.mean(values), STUDENT[len(values)] * statistics.stdev(values) / math.sqrt(
        len(values)
    )


def written(estimate, signed=False):
    mean, half = estimate
    sign = "+" if signed else ""
    return f"{mean:{sign}.3f} [{mean - half:{sign}.3f}, {mean + half:{sign}.3f}]"


def at(curve, step):
    """Interpolates a curve."""
    for (left, low), (right, high) in zip(curve, curve[1:]):
        if left <= step <= right:
            return low + (high - low) * (step - left) / (right - left)
    return curve[-1][1]


def summary(curves, seeds):
    """For each arm: accuracy at the start, at the end and as the mean over the run, differences
    from `noisy`, and theory.
    """
    ends = {name: [curves[name][seed][-1][1] for seed in seeds] for name in ARMS}
    means = {
        name: [statistics.mean(right for _, right in curves[name][seed][1:]) for seed in seeds]
        for name in ARMS
    }
    found = {}
    for name, arm in ARMS.items():
        share = arm.worth(statistics.mean(means[name]))
        by_then = [
            at(curves["clean"][seed], math.sqrt(share) * curves["clean"][seed][-1][0])
            for seed in seeds
        ]
        found[name] = {
            "start": interval([curves[name][seed][0][1] for seed in seeds]),
            "end": interval(ends[name]),
            "mean": interval(means[name]),
            "end_to_noisy": interval(
                [one - other for one, other in zip(ends[name], ends["noisy"])]
            ),
            "mean_to_noisy": interval(
                [one - other for one, other in zip(means[name], means["noisy"])]
            ),
            "j": arm.rates()[2],
            "worth": share,
            "clean_by_then": interval(by_then),
        }
    return found


def report(found, rates, seeds):
    print(
        f"\ntrue accuracy on {HELD_OUT} held-out lists, mean of {len(seeds)} seeds with its 95 % interval"
    )
    print(f"{'':11}{'at the start':23}{'at the end':23}{'mean of the run':23}")
    for name, row in found.items():
        print(
            f"{name:11}{written(row['start']):23}{written(row['end']):23}{written(row['mean']):23}"
        )
    print("\ndifference from `noisy`, by seed")
    for name, row in found.items():
        if name != "noisy":
            mean, half = row["end_to_noisy"]
            verdict = "no visible effect" if abs(mean) <= half else "an effect"
            print(
                f"{name:11}at the end {written(row['end_to_noisy'], True):27}{verdict:19}mean {written(row['mean_to_noisy'], True)}"
            )
    print(
        "\ntheory: a completion is worth J² p (1 - p) / (q (1 - q)) of one without noise, if a share p is right and a share q passes. Adam divides the"
    )
    print(
        "gradient by its standard deviation, so a step is sqrt(worth) times as long where noise dominates, and as long as without noise elsewhere: an arm"
    )
    print(
        "should end between the accuracy of the clean run after that share of its steps and its final accuracy"
    )
    print(f"{'':11}{'J':7}{'worth':8}{'sqrt':7}{'clean run by then':23}{'the arm itself':23}")
    for name, row in found.items():
        print(
            f"{name:11}{row['j']:<7.3f}{row['worth']:<8.3f}{math.sqrt(row['worth']):<7.3f}{written(row['clean_by_then']):23}{written(row['end']):23}"
        )
    print(
        "dividing by the J of one channel scales all advantages equally, and Adam is invariant to scale: `corrected` should equal `noisy`"
    )
    print(f"\nrates reported by the service, mean of {len(seeds)} channels")
    print(
        f"{'':11}{'':6}{'true':7}{'found':7}{'mean interval':18}{'intervals with true rate':26}source"
    )
    for name in ("corrected", "appealed"):
        for rate, truth in (("rho0", FALSE_POSITIVES), ("rho1", FALSE_NEGATIVES)):
            known = [rates[f"{name}-{seed}"][rate] for seed in seeds]
            value, low, high = (
                statistics.mean(one[key] for one in known) for key in ("value", "low", "high")
            )
            holding = sum(one["low"] <= truth <= one["high"] for one in known)
            bounds, share = f"[{low:.3f}, {high:.3f}]", f"{holding} of {len(known)}"
            print(
                f"{name:11}{rate:6}{truth:<7.3f}{value:<7.3f}{bounds:18}{share:26}{known[0]['source']}"
            )
    left = [rates[f"appealed-{seed}"]["after_appeals"]["j"]["value"] for seed in seeds]
    print(
        f"J after appeals: {statistics.mean(left):.3f} reported by the service, {ARMS['appealed'].rates()[2]:.3f} expected from the shares appealed; "
        f"{ARMS['noisy'].rates()[2]:.3f} before appeals"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("service", type=os.path.abspath, help="the binary `assay-measure`")
    parser.add_argument("trainer", type=os.path.abspath, help="the binary `assay-trainer`")
    parser.add_argument(
        "--seeds", type=int, default=5, choices=sorted(STUDENT), metavar="N", help="2 to 10"
    )
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a setting of all runs",
    )
    parser.add_argument(
        "--json", type=os.path.abspath, metavar="FILE", help="write the results to this file"
    )
    parser.add_argument(
        "--svg", type=os.path.abspath, metavar="FILE", help="draw the curves into this file"
    )
    parser.add_argument(
        "--folder",
        type=os.path.abspath,
        metavar="DIR",
        help="keep all files in this new folder, about 1 GB",
    )
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(given.folder or stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=not given.folder)
        experiment, service = (
            Experiment(given.trainer, folder, given.changes),
            Service(given.service, folder),
        )
        stack.callback(service.stop)
        for seed in seeds:
            service.calibrate(seed, experiment.held_out)
        runs = [(name, seed) for seed in seeds for name in ARMS]
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(2))
        try:
            list(pool.map(experiment.start, seeds))
            ended = dict(zip(runs, pool.map(lambda run: experiment.learn(service.url, *run), runs)))
        except RuntimeError as error:
            pool.shutdown(cancel_futures=True)
            sys.exit(str(error))
        curves = {name: {seed: ended[name, seed] for seed in seeds} for name in ARMS}
        channels, found = service.channels(), summary(curves, seeds)
        report(found, channels, seeds)
        if given.json:
            results = {
                "changes": experiment.changes,
                "summary": found,
                "curves": curves,
                "channels": channels,
            }
            pathlib.Path(given.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
        if given.svg:
            experiment.plot(seeds, given.svg)


if __name__ == "__main__":
    main()
