#!/usr/bin/env python3
"""Trains a policy model on the scores of a reward model: of a fixed one, and of one that is refitted
beside the training (Cooper, arXiv 2508.05613). Compares both with rewards of the rule.

usage: refitting.py PATH/TO/assay PATH/TO/assay-trainer [--seeds N] [--steps N] [--json FILE]
                    [--svg FILE] [--set SECTION.KEY=VALUE]

The policy model, of a tenth of a million parameters, learns to sort five digits. For each seed:
random weights, a short warm-up on solutions, and a reward model on a copy of the same weights,
fitted to rollouts of that start which the rule judged. Then three runs from the same start:

fixed     the reward is the score of that reward model
refitted  the same, and `assay-trainer refit` replaces it whenever the record has enough new pairs
rule      the reward is the verdict of the rule

In the first two, the rule judges half of the rollouts as an appeal that does not change
rewards; pairs are chosen from these. Accuracy of the policy model is the share of sampled
completions of held-out prompts that the rule accepts. Accuracy of a reward model is the share of
pairs of right and wrong completions of held-out prompts, sampled by the policy models of both runs
during their evaluations, that it puts in the right order. One thread for each process.
"""

import argparse
import concurrent.futures
import http.client
import json
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import learning

ARMS = ("fixed", "refitted", "rule")
PROMPTS, HELD_OUT = 4_000, 256
SAMPLES = 4
"""Sampled completions per held-out prompt."""

POLICY = """
[reward_models]
folder = "models"
threads = 1

[policies.judged]
summary = "the score of the reward model; the rule judges half of the rollouts"

[[policies.judged.appeals]]
judge = { type = "text", answer = "{{ task.reference }}" }
channels = ["reward_model/*"]
negatives = 0.5
positives = 0.5
"""


def prompts(folder):
    """Files of prompts: for each arm those for training, and those held out. Lists with the same
    digits are all held out, or none."""
    numbers, seen = random.Random(1), set()
    kept, held_out = [], []
    while len(kept) < PROMPTS or len(held_out) < HELD_OUT:
        digits = [numbers.randrange(10) for _ in range(5)]
        answer = sorted(digits)
        held = random.Random(str(answer)).random() < 0.15
        target, size = (held_out, HELD_OUT) if held else (kept, PROMPTS)
        prompt = json.dumps(digits, separators=(",", ":")) + "<"
        if len(target) < size and prompt not in seen:
            seen.add(prompt)
            target.append((prompt, json.dumps(answer, separators=(",", ":"))))

    def write(name, rows, task):
        lines = [
            json.dumps({"prompt": prompt, "task": task(answer), "solution": answer})
            for prompt, answer in rows
        ]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def rule(answer):
        return {"type": "text", "answer": answer}

    write("held_out.jsonl", held_out, rule)
    write("rule.jsonl", kept, rule)
    return lambda name: write(
        f"{name}.jsonl",
        kept,
        lambda answer: {
            "type": "reward_model",
            "model": name,
            "reference": answer,
            "threshold": 0.5,
        },
    )


class Service:
    """A client of the running service."""

    def __init__(self, url):
        self.host = url.removeprefix("http://")

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.host, timeout=120)
        connection.request(
            method,
            path,
            json.dumps(body) if body is not None else None,
            {"content-type": "application/json"},
        )
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        if reply.status != 200:
            sys.exit(f"{method} {path}: {reply.status} {text[:500]}")
        return json.loads(text)

    def load(self, name, source):
        return self.call("PUT", f"/v1/reward-models/{name}", {"source": source})

    def accuracy(self, name, pairs):
        """Share of pairs that a reward model puts in the right order; a tie counts as half."""
        raw = {}
        for side in ("accepted", "rejected"):
            items = [{"prompt": pair["prompt"], "completion": pair[side]} for pair in pairs]
            reply = self.call("POST", f"/v1/reward-models/{name}/score", {"items": items})
            raw[side] = [result["raw"] for result in reply["results"]]
        right = [
            1.0 if one > other else 0.5 if one == other else 0.0
            for one, other in zip(raw["accepted"], raw["rejected"])
        ]
        return statistics.mean(right)


class Experiment:
    """The runs of all seeds."""

    def __init__(self, given, folder, url):
        self.given, self.folder, self.url = given, folder, url
        self.service = Service(url)
        self.write_prompts = prompts(folder)
        self.models = folder / "models"

    def words(self, name, **settings):
        """Arguments of the trainer for a run."""
        changes = {
            "run": name,
            "data.path": self.folder / "rule.jsonl",
            "evaluation.path": self.folder / "held_out.jsonl",
            "evaluation.prompts": HELD_OUT,
            "evaluation.samples": SAMPLES,
            "evaluation.every": 20,
            **settings,
        }
        if self.given.warmup:
            changes["warmup.steps"] = self.given.warmup
        changes = [f"{key}={value}" for key, value in changes.items()]
        if self.given.steps and "training.steps" not in settings:
            changes.append(f"training.steps={self.given.steps}")
        changes += self.given.changes if name.split("-")[0] in ARMS else []
        return [word for change in changes for word in ("--set", change)]

    def train(self, name, **settings):
        learning.trainer(
            self.given.trainer,
            *("train", "--config", self.folder / "run.toml", "--server", self.url),
            *("--output", self.folder / name),
            *self.words(name, **settings),
        )

    def refit(self, name, run, *words):
        """Starts the refits of a reward model."""
        command = [self.given.trainer, "refit", "--server", self.url, "--folder", self.models]
        command += ["--name", name, "--run", run, "--loss", "labels", "--body", "all"]
        command += ["--interval", "1", *words]
        return subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RAYON_NUM_THREADS": "1"},
        )

    def start(self, seed):
        """The policy model after its warm-up, and the first reward model."""
        random_weights, start = self.folder / f"random-{seed}", self.folder / f"start-{seed}"
        trainer = self.given.trainer
        learning.trainer(
            trainer, "init", "--config", learning.CONFIG, "--seed", seed, "--output", random_weights
        )
        settings = {"seed": seed, "policy.path": random_weights}
        learning.trainer(
            trainer,
            *("sft", "--config", self.folder / "run.toml", "--output", start),
            *self.words(f"start-{seed}", **settings),
        )
        untrained = self.models / f"untrained-{seed}"
        learning.trainer(
            trainer, "reward-model", "--untrained", "--model", start, "--output", untrained
        )
        self.service.load(f"first-{seed}", untrained.name)
        # The learning rate is so small that all rollouts are those of the start.
        self.train(
            f"rollouts-{seed}",
            **{"seed": seed, "policy.path": start, "training.steps": 30, "evaluation.every": 0},
            **{"schedule.learning_rate": 1e-12},
        )
        process = self.refit(
            f"first-{seed}", f"rollouts-{seed}", "--rounds", 1, "--min-pairs", 100, "--epochs", 6
        )
        out, problems = process.communicate()
        if process.returncode:
            sys.exit(f"the first fit failed: {problems[-2000:]}")
        for arm in ("fixed", "refitted"):
            name = f"{arm}-{seed}"
            self.write_prompts(name)
            self.service.load(name, f"first-{seed}-refits/000001")
        return json.loads(out)

    def run(self, arm, seed):
        """One run. Returns the rounds of refits."""
        name = f"{arm}-{seed}"
        settings = {"seed": seed, "policy.path": self.folder / f"start-{seed}"}
        if arm != "rule":
            settings["data.path"] = self.folder / f"{name}.jsonl"
            settings["rewards.policy"] = "judged"
        refits = None
        if arm == "refitted":
            # Mostly completions that the rule judged are that certain.
            refits = self.refit(name, name, "--min-pairs", 200, "--window", 8_000, "--min-certainty", 0.95)
        try:
            self.train(name, **settings)
        finally:
            if refits:
                refits.send_signal(signal.SIGTERM)
                out, problems = refits.communicate()
        if not refits:
            return []
        if refits.returncode != 130:
            sys.exit(f"`refit` exited with {refits.returncode}: {problems[-2000:]}")
        return [json.loads(line) for line in out.splitlines()]

    def reward_models(self, seed):
        """Accuracy of the first and of the last reward model on held-out prompts."""
        for arm in ("fixed", "refitted"):
            self.service.call(
                "POST",
                f"/v1/reward-models/first-{seed}/pairs/from-run",
                {"run": f"{arm}-{seed}/held-out", "per_prompt": 4},
            )
        pairs, after = [], 0
        while True:
            path = f"/v1/reward-models/first-{seed}/pairs?limit=1000&after={after}"
            page = self.service.call("GET", path)
            pairs += page["pairs"]
            after = page["next"]
            if not page["more"]:
                break
        pairs = [pair for pair in pairs if pair["source"]["run"].endswith("/held-out")][-2_000:]
        found = {
            arm: self.service.accuracy(f"{arm}-{seed}", pairs) for arm in ("fixed", "refitted")
        }
        return {**found, "pairs": len(pairs)}


def written(numbers):
    """A mean with its 95 % interval."""
    mean, half = learning.interval(numbers)
    return f"{mean:.3f}" if math.isnan(half) else f"{mean:.3f} +- {half:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay", type=os.path.abspath)
    parser.add_argument("trainer", type=os.path.abspath)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=160, help="steps of a run")
    parser.add_argument("--warmup", type=int, default=120, help="steps of the warm-up")
    parser.add_argument("--json", type=os.path.abspath, help="write all numbers to this file")
    parser.add_argument("--svg", type=os.path.abspath, help="draw the curves into this file")
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a setting of all runs",
    )
    given = parser.parse_args()
    began, seeds = time.monotonic(), range(1, given.seeds + 1)
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        (folder / "models").mkdir()
        (folder / "assay.toml").write_text(POLICY, encoding="utf-8")
        text = learning.CONFIG.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("problems = ")]
        (folder / "run.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        process, url = learning.serve(given.assay, folder)
        try:
            experiment = Experiment(given, folder, url)
            first = dict(zip(seeds, pool.map(experiment.start, seeds)))
            runs = [(arm, seed) for seed in seeds for arm in ARMS]
            rounds = dict(zip(runs, pool.map(lambda run: experiment.run(*run), runs)))
            curves = {run: learning.curve(folder / f"{run[0]}-{run[1]}") for run in runs}
            models = {seed: experiment.reward_models(seed) for seed in seeds}
        finally:
            process.terminate()
            process.wait()
        if given.svg:
            series = [
                word
                for arm in ARMS
                for word in (
                    "--series",
                    f"{arm}="
                    + ",".join(f"{folder}/{arm}-{seed}/metrics.jsonl" for seed in seeds),
                )
            ]
            title = ["--title", "Accuracy on held-out prompts", "--output", given.svg]
            learning.trainer(given.trainer, "plot", *series, *title)
    print("accuracy of the policy model on held-out prompts")
    print(f"{'seed':>4}  {'start':>6}" + "".join(f"  {arm:>9}" for arm in ARMS))
    ends = {arm: [] for arm in ARMS}
    for seed in seeds:
        start = curves["rule", seed][0]
        for arm in ARMS:
            ends[arm].append(curves[arm, seed][max(curves[arm, seed])])
        print(f"{seed:>4}  {start:>6.3f}" + "".join(f"  {ends[arm][-1]:>9.3f}" for arm in ARMS))
    for arm in ARMS:
        print(f"{arm:>9}  {written(ends[arm])} at the end")
    gains = [one - other for one, other in zip(ends["refitted"], ends["fixed"])]
    print(f"refitted - fixed, by seed: {written(gains)}")
    print("\naccuracy of the reward model on pairs of held-out prompts")
    print("seed  first fit  first model  refitted model  pairs  refits  replaced")
    for seed in seeds:
        found, done = models[seed], rounds["refitted", seed]
        replaced = sum(round["replaced"] for round in done)
        print(
            f"{seed:>4}  {first[seed]['accuracy_after']:>9.3f}  {found['fixed']:>11.3f}"
            f"  {found['refitted']:>14.3f}  {found['pairs']:>5}  {len(done):>6}  {replaced:>8}"
        )
    print(f"first model     {written([found['fixed'] for found in models.values()])}")
    print(f"refitted model  {written([found['refitted'] for found in models.values()])}")
    print(f"{time.monotonic() - began:.0f} s")
    if given.json:
        results = {
            "curves": {f"{arm}-{seed}": curve for (arm, seed), curve in curves.items()},
            "rounds": {f"{arm}-{seed}": found for (arm, seed), found in rounds.items() if found},
            "reward_models": models,
            "first": first,
        }
        pathlib.Path(given.json).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
