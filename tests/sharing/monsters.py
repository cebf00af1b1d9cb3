#!/usr/bin/env python3
"""Sends generated hostile inputs of every grader to a node, one at a time, and compares the memory
of the service with a limit.

usage: monsters.py PATH/TO/assay [--grader NAME …] [--seed N] [--count N] [--memory MIB]

The seed determines the inputs. Memory is the peak of the service itself: workers have limits of
their own, and reserve more address space than they use. CPU time includes workers. Exits with 1 if
the service or a connection ends, a result is `failed`, a reply is a 5xx, the memory exceeds the
limit, an input of `math` exceeds its own limits, or fewer inputs were graded than planned.
"""

import argparse
import collections
import dataclasses
import http.client
import json
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "openapi"))

import batches  # noqa: E402, modules beside this one
import calls  # noqa: E402
import documents  # noqa: E402
import mathematics  # noqa: E402
import programs  # noqa: E402
import queries  # noqa: E402
import texts  # noqa: E402
from inputs import draw, graded  # noqa: E402
from node import end_on_signal, started  # noqa: E402
from service import MODEL, write_model  # noqa: E402, of `tests/openapi`

# Other graders have limits on work that are counted in seconds. A step budget bounds mathematics.
MATH_MIB = 64
# An input that is slower is sent again, because other processes slow it down too.
TRIES = 3
# Some shapes are rejected for their size before they are graded.
LEAST_GRADED = 0.5
REPLY_SECONDS = 300
LISTED = 3
# Outcomes are not cached, so that an input can be sent again.
SETTINGS = {"ENGINE_OUTCOME_BYTES": "0"}
MODEL_SETTINGS = {
    "REWARD_MODELS_FOLDER": "models",
    "REWARD_MODELS_DEFAULT": MODEL,
    "REWARD_MODELS_HUB": "",
}


def reward_model(rng):
    unit = rng.choice(["x", "<|im_start|>", "é", "\u202e", " ", "\0", "<think>", "{{ x }}", "😀"])
    size = rng.choice([10, 5000, 500_000])
    messages = [{"role": "user", "content": "x"}] * rng.choice([1, 2000])
    task = {"type": "reward_model", "reasoning": rng.choice(["keep", "strip"])}
    return graded(f"{size} times {unit!r}", task, unit * size, prompt=messages)


MAKERS = {
    "math": mathematics.make,
    "code": programs.make,
    "sql": queries.make,
    "tools": calls.make,
    "structured": documents.make,
    "text": texts.make,
    "reward_model": lambda rng, count: draw([reward_model], rng, count),
    "batches": batches.make,
}


@dataclasses.dataclass
class Sent:
    """What one input cost."""

    name: str
    seconds: float
    cpu: float
    growth: float
    peak: float
    answers: list
    problem: str | None = None


def results(status, reply):
    """Outcome or verdict of each item."""
    if status != 200:
        error = json.loads(reply).get("error", {}) if reply[:1] == b"{" else {}
        return [f"status {status} {error.get('code', '')}".strip()]
    found = json.loads(reply).get("results", [])
    return [
        one["verdict"]
        if one.get("verdict")
        else f"{one.get('outcome')} {(one.get('error') or {}).get('code')}"
        for one in found
    ]


def send(node, made, key):
    """Sends an input and measures it."""
    node.reset_peak()
    before, cpu, began = node.memory(), node.cpu(), time.monotonic()
    problem, answers = None, []
    try:
        status, reply = node.request("POST", made.path, made.body, key, timeout=REPLY_SECONDS)
        answers = results(status, reply)
        if status >= 500:
            problem = f"status {status}: {reply[:300].decode(errors='replace')}"
        failed = [answer for answer in answers if answer.startswith("failed")]
        if failed:
            problem = (
                f"{len(failed)} results are {failed[0]}: {reply[:500].decode(errors='replace')}"
            )
    except (OSError, http.client.HTTPException) as error:
        problem = f"no reply: {error!r}"
    seconds = time.monotonic() - began
    try:
        spent, peak = node.cpu() - cpu, node.memory("VmHWM")
    except (OSError, ProcessLookupError):
        # The process may end after its connections.
        node.process.wait(10)
        return Sent(made.name, seconds, 0, 0, 0, answers, f"the node ended: {node.why_ended()}")
    return Sent(made.name, seconds, spent, peak - before, peak, answers, problem)


def again(made, attempt):
    """The same input with another task, so that nothing prepared for the first one is used."""
    task = made.body["items"][0]["task"]
    golds = task["answer"] if isinstance(task["answer"], list) else [task["answer"]]
    item = made.body["items"][0] | {
        "task": task | {"answer": [gold + " " * attempt for gold in golds]}
    }
    return dataclasses.replace(made, body={"items": [item]})


def limited(node, made, key, sent, cpu_seconds):
    """The cheapest of several tries of an input of `math`, with its problem."""
    attempt = 0
    while sent.problem is None and (sent.cpu > cpu_seconds or sent.growth > MATH_MIB):
        attempt += 1
        if attempt == TRIES:
            sent.problem = f"{1000 * sent.cpu:.0f} ms of CPU, {sent.growth:.0f} MiB"
            break
        other = send(node, again(made, attempt), key)
        sent = other if other.problem else min(sent, other, key=lambda one: (one.cpu, one.growth))
    return sent


def report(grader, planned, all_sent):
    """Prints what the inputs of a grader cost."""
    counts = collections.Counter(answer for sent in all_sent for answer in sent.answers)
    print(f"\n{grader}: {len(all_sent)} of {planned} inputs")
    for answer, count in counts.most_common():
        print(f"  {count:7} {answer}")
    costs = {
        "slowest": lambda sent: sent.seconds,
        "CPU": lambda sent: sent.cpu,
        "memory": lambda sent: sent.growth,
    }
    for title, cost in costs.items():
        for sent in sorted(all_sent, key=cost, reverse=True)[:LISTED]:
            print(
                f"  {title:8} {1000 * sent.seconds:8.0f} ms {1000 * sent.cpu:8.0f} ms CPU "
                f"{sent.growth:+7.0f} MiB  {sent.name}: {', '.join(sorted(set(sent.answers)))[:60]}"
            )


def run(options, grader, settings, prepare=None):
    """Sends the inputs of a grader; returns problems."""
    rng = random.Random(f"{options.seed} {grader}")
    planned, all_sent, problems = MAKERS[grader](rng, options.count), [], []
    while len(all_sent) < len(planned):
        # Another node only if one ended.
        with started(options.binary, {"caller": "trainer"}, settings, prepare) as (node, keys):
            if grader == "reward_model" and not model_is_ready(node, keys["caller"]):
                print("FAIL reward_model: the model was not loaded")
                return ["the model was not loaded"]
            for made in planned[len(all_sent) :]:
                sent = send(node, made, keys["caller"])
                if grader == "math":
                    sent = limited(node, made, keys["caller"], sent, options.math_cpu / 1000)
                if sent.problem is None and sent.peak > options.memory:
                    sent.problem = f"peak of {sent.peak:.0f} MiB"
                all_sent.append(sent)
                if sent.problem:
                    problems.append(f"{sent.name}: {sent.problem}")
                    print(f"FAIL {grader}: {problems[-1]}", flush=True)
                if not node.alive():
                    break
    report(grader, len(planned), all_sent)
    ungraded = sum(all(answer.startswith("status") for answer in sent.answers) for sent in all_sent)
    if ungraded > (1 - LEAST_GRADED) * len(planned):
        problems.append(f"{ungraded} of {len(planned)} inputs were not graded")
        print(f"FAIL {grader}: {problems[-1]}")
    return problems


def model_is_ready(node, key):
    body = {"items": [{"completion": "x", "prompt": "x", "task": {"type": "reward_model"}}]}
    for _ in range(600):
        if results(*node.request("POST", "/v1/grade", body, key)) == ["scored"]:
            return True
        time.sleep(0.1)
    return False


def with_model(folder):
    """A small model with random weights."""
    write_model(folder / "models" / MODEL)
    (folder / "assay.toml").write_text(f'[reward_models.load.{MODEL}]\nsource = "{MODEL}"\n')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument(
        "--grader", action="append", choices=MAKERS, help="may be repeated (default: all)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=80, help="inputs of each grader")
    parser.add_argument("--memory", type=int, default=1536, help="limit in MiB")
    parser.add_argument(
        "--math-cpu", type=int, default=50, help="limit of an input of `math` in ms of CPU"
    )
    options = parser.parse_args()
    end_on_signal()
    problems = []
    for grader in options.grader or MAKERS:
        if grader == "reward_model":
            problems += run(options, grader, SETTINGS | MODEL_SETTINGS, with_model)
        else:
            problems += run(options, grader, SETTINGS)
    print(f"\nseed {options.seed}: {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
