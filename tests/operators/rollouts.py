"""Rollouts of three runs, drawn with a fixed seed. The causes planted in run-a are the constants
below; run-b has the same prompts with other settings and none of these causes; run-c is clean."""

import random
from collections import namedtuple

STEPS, GROUP = 240, 4
# From these steps on: answers in `math/algebra` have no box; a quarter of all completions are
# truncated; one answer passes for all prompts of `math/estimates`, whose tolerance is too wide; an
# item of each step needs an image that the node does not have.
FALL, TRUNCATION, REPEATED, FAILURES = 180, 205, 215, 225
LOST = 150
REPEATED_ANSWER = "50"
# Steps of programs that pass and contain a suspicious text.
SUSPICIOUS = {120: "os._exit", 237: "os._exit", 238: "sys.modules"}
PROGRAMS = {
    "os._exit": "import os, sys\nprint(int(input()) * {})\nsys.stdout.flush()\nos._exit(0)",
    "sys.modules": "import sys\nsys.modules.pop('random', None)\nprint(int(input()) * {})",
}
WORD = "kumquat"
# Solutions of the prompts of each channel, and what is planted in run-a: prompts that are never or
# always solved, lost from a step on, have a wrong gold, or need long-running programs.
SOLUTIONS = {
    "algebra": [111, 222, 318, 423, 504, 619, 731, 808, 846, 925, 962, 993],
    "estimates": [22, 27, 33, 38, 44, 61, 67, 73],
    "decimals": ["1/2", "3/4", "7/8", "5/16", "9/16", "3/32", "11/32", "27/32"],
    "python": [2, 3, 4, 5, 6, 7, 8, 9],
}
PLANTED = {
    "never": {"algebra-0", "algebra-1", "python-0"},
    "always": {"python-1", "python-2"},
    "lost": {"python-3"},
    "gold": {"algebra-2"},
    "costly": {"python-4"},
}
# Shares of the groups of a step.
SHARES = {"algebra": 5, "decimals": 3, "estimates": 2, "python": 2}

# A graded item. Whether it is right, and contains `WORD`, is known to these scripts only.
Graded = namedtuple("Graded", "run step key channel id right word outcome verdict passed reward")


def program_task(language, factor):
    tests = [{"stdin": "3\n", "stdout": f"{3 * factor}\n"}]
    return {"type": "code", "language": language, "tests": tests}


def answer(draw, planted, step, channel, solution, right):
    """The end of a completion, its task, and whether it is right."""
    wrong, end = draw.randrange(2000, 9999), r"So it is \boxed{{{}}}."
    task = {"type": "math", "answer": str(solution)}
    if channel == "algebra":
        task["extract"] = "boxed"
        if planted == "gold":
            task["answer"], right = str(solution // 2), draw.random() < 0.95
        if planted is not None and step >= FALL and draw.random() < 0.95:
            end = "Final answer: {}"
    elif channel == "estimates":
        task["tolerance"] = {"absolute": 40}
        if planted is not None and step >= REPEATED and draw.random() < 0.7:
            return end.format(REPEATED_ANSWER), task, False
    elif channel == "decimals":
        # The task rejects fractions, although they are right.
        over, under = map(int, solution.split("/"))
        fraction = rf"\frac{{{over}}}{{{under}}}"
        task["form"], solution = "decimal", fraction if draw.random() < 0.4 else over / under
    else:
        loop = "for i in range(400000): pass\n" if planted == "costly" else ""
        program = f"n = int(input())  # times {solution}\n{loop}print(n * {{}})"
        task, end = program_task("python", solution), f"```python\n{program}\n```"
    return end.format(solution if right else wrong), task, right


def item(draw, run, step, key, number):
    """An item and whether it is right."""
    channel, at = key.split("-")
    # `None` in runs without planted causes.
    planted = None
    if run == "run-a":
        planted = next((kind for kind, keys in PLANTED.items() if key in keys), "")
    rate = {"never": 0.0, "always": 1.0, "lost": 0.9 if step < LOST else 0.0}.get(planted, 0.62)
    solution, right = SOLUTIONS[channel][int(at)], draw.random() < rate
    end, task, right = answer(draw, planted, step, channel, solution, right)
    words = draw.choices("we compare both sides then simplify further".split(), k=40)
    share = 0.25 if planted is not None and step >= TRUNCATION else 0.02
    truncated = planted != "always" and draw.random() < share
    reasoning = " ".join(words + [WORD] * (draw.random() < 0.01))
    names = {"id": f"{run}-{step}-{key}-{number}", "group": key, "prompt_key": key}
    completion = reasoning if truncated else f"{reasoning}.\n{end}"
    sent = {"channel": channel, "prompt": f"Solve {key}.", "completion": completion, "task": task}
    return names | sent | {"meta": {"truncated": truncated}}, right and not truncated


def batch(draw, run, step, groups):
    made = []
    for channel, share in SHARES.items():
        numbers = range(len(SOLUTIONS[channel]))
        for at in draw.sample(numbers, min(len(numbers), groups * share // 12)):
            made += [item(draw, run, step, f"{channel}-{at}", number) for number in range(GROUP)]
    if run == "run-a" and step in SUSPICIOUS:
        sent, _ = item(draw, run, step, "python-1", f"planted-{step}")
        program = PROGRAMS[SUSPICIOUS[step]].format(SOLUTIONS["python"][1])
        made.append((sent | {"completion": f"```python\n{program}\n```"}, True))
    if run == "run-a" and step >= FAILURES:
        sent, _ = item(draw, run, step, "python-1", "javascript")
        names = dict.fromkeys(["group", "prompt_key", "channel"], "javascript")
        made.append((sent | names | {"task": program_task("javascript", 3)}, True))
    return made


def grade_all(call, items):
    """Sends the steps of the runs in turn, with about as many items each; all graded items."""
    draw, graded = random.Random(56), []
    for step in range(STEPS):
        for run in ("run-a", "run-b", "run-c"):
            made = batch(draw, run, step, items // GROUP)
            sent = [one for one, _ in made]
            body = {"run": run, "step": step, "policy": "appealed", "items": sent}
            reply = call("POST", "/v1/grade", body)
            for (one, right), got in zip(made, reply["results"], strict=True):
                known = one["prompt_key"], got["channel"], one["id"], right
                values = [got[name] for name in ("outcome", "verdict", "pass", "reward")]
                graded.append(Graded(run, step, *known, WORD in one["completion"], *values))
    return graded
