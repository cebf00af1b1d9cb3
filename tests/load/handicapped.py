#!/usr/bin/env python3
"""Measures the error rates of a noisy grader and corrects its verdicts by appeals.

usage: handicapped.py PATH/TO/assay [STEPS]

The grader of mathematics is configured to reject fractions (`"form": "decimal"`), although the
tasks allow them: a systematic false negative. A quarter of its negatives are sent to the same
grader without that rule, and a twentieth of its positives are audited. The script knows the truth;
the service does not. Fails if the final interval of rho1 does not contain the true rate, if nothing
was overturned, or if appeals did not reduce the number of wrong rewards.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import urllib.request

CONFIGURATION = """
[channels]
refresh_seconds = 0

[policies.appealed]
summary = "a quarter of the negatives goes to the unrestricted grader"

[[policies.appealed.appeals]]
judge = { type = "math", answer = "{{ task.answer }}" }
negatives = 0.25
positives = 0.05
overturn = true
precision = 0.9
sensitivity = 0.98
specificity = 0.99
"""
PROMPTS, GROUP = 16, 8


def rollouts(rng):
    """A batch and, for each item, whether it is right. A third are fractions, a third decimals, and
    a third wrong.
    """
    items, truth = [], []
    for prompt in range(PROMPTS):
        below = rng.choice([2, 4, 8, 16, 32])
        gold = rng.randrange(1, below, 2)
        for rollout in range(GROUP):
            kind = rng.choice(["fraction", "decimal", "wrong"])
            answer = {
                "fraction": rf"\frac{{{gold}}}{{{below}}}",
                "decimal": str(gold / below),
                "wrong": str(rng.randrange(2, 9999)),
            }[kind]
            items.append(
                {
                    "id": f"{prompt}-{rollout}",
                    "group": str(prompt),
                    "completion": rf"So it is \boxed{{{answer}}}.",
                    "task": {"type": "math", "answer": f"{gold}/{below}", "form": "decimal"},
                }
            )
            truth.append(kind != "wrong")
    return items, truth


class Service:
    """A server with a separate folder."""

    def __init__(self, binary, folder):
        with open(os.path.join(folder, "assay.toml"), "w", encoding="ascii") as file:
            file.write(CONFIGURATION)
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--database", "sqlite://handicapped.db"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
        )
        lines = iter(self.process.stderr)
        self.url = (
            "http://"
            + next(filter(None, (re.search(r"127\.0\.0\.1:\d+", line) for line in lines))).group()
        )

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def interval(rate):
    return "?" if rate is None else f"{rate['value']:.3f} [{rate['low']:.3f}, {rate['high']:.3f}]"


def main():
    binary = os.path.abspath(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    rng = random.Random(1)
    refused = right = wrong_before = wrong_after = 0
    with tempfile.TemporaryDirectory() as folder:
        service = Service(binary, folder)
        try:
            print(
                "step  items  checked  overturned  rho1 and its interval  true  J and its interval     wrong before, after"
            )
            for step in range(1, steps + 1):
                items, truth = rollouts(rng)
                reply = service.call(
                    "/v1/grade", {"run": "live", "step": step, "policy": "appealed", "items": items}
                )
                for result, is_right in zip(reply["results"], truth):
                    right += is_right
                    refused += is_right and not result["pass"]
                    wrong_before += result["pass"] != is_right
                    wrong_after += (result["reward"] == 1) != is_right
                if step in (1, 2, 5) or step % 10 == 0:
                    (channel,) = service.call("/v1/channels")["channels"]
                    seen, checked = (
                        channel["negatives"] + channel["positives"],
                        channel["checked_negatives"] + channel["checked_positives"],
                    )
                    print(
                        f"{step:4}  {seen:5}  {checked:7}  {channel['overturned_negatives']:10}  {interval(channel['rho1']):21}"
                        f"  {refused / right:.2f}  {interval(channel['j']):21}  {wrong_before:6}, {wrong_after}"
                    )
            table = subprocess.run(
                [binary, "channels", "--server", service.url, "show", "math/default"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            print("\n$ assay channels show math/default\n" + table)
            table = subprocess.run(
                [
                    binary,
                    "grades",
                    "--server",
                    service.url,
                    "--appeal",
                    "overturned",
                    "--limit",
                    "3",
                ],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            print("$ assay grades --appeal overturned --limit 3\n" + table)
        finally:
            service.stop()
    rho1, true = channel["rho1"], refused / right
    assert rho1["low"] <= true <= rho1["high"], f"the interval {rho1} does not contain {true}"
    assert channel["overturned_negatives"] > 0 and wrong_after < wrong_before, (
        wrong_before,
        wrong_after,
    )


if __name__ == "__main__":
    main()
