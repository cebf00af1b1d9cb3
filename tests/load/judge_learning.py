#!/usr/bin/env python3
"""Trains a policy model on prompts of which half are graded by a rule without errors and half by a
noisy judge, and measures whether correction by the rates of the judge changes what is learnt.

usage: judge_learning.py PATH/TO/assay-measure PATH/TO/assay-trainer [--seeds N] [--json FILE]
                         [--folder DIR] [--set SECTION.KEY=VALUE]

The task is that of `noisy_learning.py`, in two kinds: a list is sorted in ascending order, which a
rule grades, or in descending order, which the judge grades. The judge accepts a fifth of the wrong
answers and rejects half of the right ones, independently for each completion (J = 0.3). For each
seed there are three runs, from the same start, on the same prompts in the same order:

clean        the judge makes no errors
uncorrected  the verdicts of the judge; the advantage is the reward minus the mean of the group
corrected    the same, divided by the J of the channel (the statistic `gain`), with rates calibrated
             on labelled answers

The metrics and the seeds, 1 to N, were chosen in advance: the final accuracy on held-out lists of
the judge's kind, and of the rule's kind, each as its difference from `uncorrected` by seed.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

import noisy_learning as noisy

FALSE_POSITIVES, FALSE_NEGATIVES = 0.2, 0.5
LABELLED = 1_000
ARMS = {
    "clean": (0.0, 0.0, ()),
    "uncorrected": (FALSE_POSITIVES, FALSE_NEGATIVES, ()),
    "corrected": (FALSE_POSITIVES, FALSE_NEGATIVES, ("rewards.statistic=gain",)),
}
# Either kind has half of the steps.
WARMUP = "warmup.steps=120"
KINDS = {"judge": ">", "rule": "<"}
"""Marks at the end of prompts, by what grades them."""


def in_order(kind, numbers):
    return sorted(numbers, reverse=kind == "judge")


def exact_task(kind, numbers):
    return {"type": "structured", "extract": "whole", "expected": in_order(kind, numbers)}


def judged_task(rates, seed, numbers):
    return {
        "type": "noisy",
        "false_positives": rates[0],
        "false_negatives": rates[1],
        "seed": seed,
        "of": exact_task("judge", numbers),
    }


def row(kind, numbers, task, channel=None):
    """A line of a file of prompts."""
    return {
        "prompt": noisy.text(numbers) + KINDS[kind],
        "task": task,
        "prompt_key": noisy.text(numbers) + KINDS[kind],
        "channel": channel,
        "solution": noisy.text(in_order(kind, numbers)),
    }


def write(path, rows):
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="ascii")


class Experiment(noisy.Experiment):
    """The files of an experiment, and its commands."""

    def __init__(self, trainer, folder, changes):
        self.trainer, self.folder = trainer, folder
        self.train, self.held_out = noisy.lists()
        for kind in KINDS:
            rows = [row(kind, numbers, exact_task(kind, numbers)) for numbers in self.held_out]
            write(self.held_out_of(kind), rows)
        rows = [row(kind, numbers, exact_task(kind, numbers)) for kind, numbers in self.mixed()]
        write(folder / "solutions.jsonl", rows)
        text = noisy.CONFIG.read_text(encoding="ascii")
        (one,) = re.findall(r"^problems = \[(.*)\]$", text, re.MULTILINE)
        both = f"{one}, {one.replace('ascending', 'descending')}"
        self.config = folder / "sorting.toml"
        self.config.write_text(text.replace(one, both), encoding="ascii")
        path = f"evaluation.path={self.held_out_of('judge')}"
        self.changes = [*noisy.CHANGES, WARMUP, path, *changes]

    def start(self, seed):
        """The policy model from which all runs of a seed start, trained on solutions only."""
        drawn = self.folder / f"random-{seed}"
        # The alphabet of either kind.
        self.command("init", "--config", self.config, "--seed", seed, "--output", drawn)
        changes = [f"seed={seed}", f"policy.path={drawn}", self.data("solutions")]
        self.run("sft", f"start-{seed}", changes)

    def held_out_of(self, kind):
        return self.folder / f"held-out-{kind}.jsonl"

    def mixed(self):
        """The training lists, alternately of either kind."""
        kinds = list(KINDS)
        return [(kinds[at % 2], numbers) for at, numbers in enumerate(self.train)]

    def learn(self, url, name, seed):
        """Runs the trainer once. Returns the final held-out accuracy by kind."""
        *rates, settings = ARMS[name]
        run = f"{name}-{seed}"
        rows = [
            row(kind, numbers, judged_task(rates, seed, numbers), run)
            if kind == "judge"
            else row(kind, numbers, exact_task(kind, numbers), "rule")
            for kind, numbers in self.mixed()
        ]
        write(self.folder / f"{run}.jsonl", rows)
        changes = [f"run={run}", f"seed={seed}", f"policy.path={self.folder}/start-{seed}"]
        began = time.monotonic()
        self.run("train", run, [*changes, self.data(run), *settings], "--server", url)
        model = self.folder / run / "model"
        ends = {kind: self.accuracy(url, kind, model, seed) for kind in KINDS}
        written = ", ".join(f"{kind} {end:.3f}" for kind, end in ends.items())
        print(f"{run}: {written} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return ends

    def accuracy(self, url, kind, model, seed):
        """The accuracy of a policy model on the held-out lists of a kind."""
        path = f"evaluation.path={self.held_out_of(kind)}"
        changes = [f"--set={change}" for change in (*self.changes, path, f"seed={seed}")]
        words = ("--config", noisy.CONFIG, "--server", url, "--model", model)
        return json.loads(self.command("eval", *words, *changes))["held_out/accuracy"]


def calibrate(service, seed, train):
    """Measures the rates of both channels on labelled answers."""

    def item(at, kind, numbers, right):
        *others, last = in_order(kind, numbers)
        answer = [*others, last if right else (last + 1 + at % 9) % 10]
        judged = judged_task((FALSE_POSITIVES, FALSE_NEGATIVES), seed, numbers)
        return {
            "prompt": noisy.text(numbers) + KINDS[kind],
            "completion": noisy.text(answer),
            "channel": "labelled",
            "meta": {"sample": at},
            "task": judged if kind == "judge" else exact_task(kind, numbers),
        }

    for kind, channel in (("judge", f"noisy/corrected-{seed}"), ("rule", "structured/rule")):
        passed = {}
        for right in (True, False):
            items = [item(at, kind, one, right) for at, one in enumerate(train[:LABELLED])]
            results = service.call("/v1/grade", {"items": items})["results"]
            passed[right] = sum(result["pass"] for result in results)
        body = {
            "channel": channel,
            "version": seed,
            "method": "labels",
            "right": LABELLED,
            "right_rejected": LABELLED - passed[True],
            "wrong": LABELLED,
            "wrong_passed": passed[False],
        }
        service.call("/v1/channels/calibrations", body)


def summary(starts, ends, seeds):
    """By kind and arm: accuracy before and after training, and its difference from `uncorrected`."""
    found = {}
    for kind in KINDS:
        reference = [ends["uncorrected", seed][kind] for seed in seeds]
        for name in ARMS:
            after = [ends[name, seed][kind] for seed in seeds]
            found[f"{kind}/{name}"] = {
                "start": noisy.interval([starts[seed][kind] for seed in seeds]),
                "end": noisy.interval(after),
                "difference": noisy.interval([a - b for a, b in zip(after, reference)]),
            }
    return found


def report(found, channels, seeds):
    print(f"\ntrue accuracy on {noisy.HELD_OUT} held-out lists of each kind")
    print(f"mean of {len(seeds)} seeds with its 95 % interval")
    print(f"{'':20}{'at the start':23}{'at the end':23}difference from `uncorrected`, by seed")
    for name, one in found.items():
        difference = "" if name.endswith("uncorrected") else noisy.written(one["difference"], True)
        print(
            f"{name:20}{noisy.written(one['start']):23}{noisy.written(one['end']):23}{difference}"
        )
    known = [channels[f"corrected-{seed}"]["j"] for seed in seeds]
    holding = sum(
        one["low"] <= 1 - FALSE_POSITIVES - FALSE_NEGATIVES <= one["high"] for one in known
    )
    value, low = (statistics.mean(one[key] for one in known) for key in ("value", "low"))
    print(f"J of the judge by the service: {value:.3f}, mean lower bound {low:.3f}, ", end="")
    print(
        f"{holding} of {len(known)} intervals contain {1 - FALSE_POSITIVES - FALSE_NEGATIVES:.1f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("service", type=os.path.abspath, help="the binary `assay-measure`")
    parser.add_argument("trainer", type=os.path.abspath, help="the binary `assay-trainer`")
    parser.add_argument("--seeds", type=int, default=5, choices=sorted(noisy.STUDENT), metavar="N")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=os.path.abspath, metavar="FILE")
    parser.add_argument("--folder", type=os.path.abspath, metavar="DIR")
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(given.folder or stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=not given.folder)
        experiment = Experiment(given.trainer, folder, given.changes)
        service = noisy.Service(given.service, folder)
        stack.callback(service.stop)
        for seed in seeds:
            calibrate(service, seed, experiment.train)
        runs = [(name, seed) for seed in seeds for name in ARMS]
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(2))
        try:
            list(pool.map(experiment.start, seeds))
            starts = {
                seed: {
                    kind: experiment.accuracy(service.url, kind, folder / f"start-{seed}", seed)
                    for kind in KINDS
                }
                for seed in seeds
            }
            ends = dict(zip(runs, pool.map(lambda run: experiment.learn(service.url, *run), runs)))
        except RuntimeError as error:
            pool.shutdown(cancel_futures=True)
            sys.exit(str(error))
        found, channels = summary(starts, ends, seeds), service.channels()
        report(found, channels, seeds)
        if given.json:
            results = {"changes": experiment.changes, "summary": found, "channels": channels}
            pathlib.Path(given.json).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
