"""Hostile programs, which must never be accepted, and must not avoid a score by making a sound task
look broken.

A line of `attacks.jsonl` is a task, an honest program that solves it, and attacks. The honest
program must be accepted, because a task that no program passes would prove nothing about attacks.
An attack may end `ungradable` only with `may_be_ungradable`.
"""

import json

import grading
import programs

FILE = programs.HERE / "attacks.jsonl"

# Low limits, so that attacks that exhaust them finish quickly.
LIMITS = {"seconds": 1, "memory_mb": 192}

# Outcomes without a score.
UNSCORED = ("ungradable", "failed", "cancelled")


def load():
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def entry(task, key, program):
    """A program for the task, in the form of a line of `programs/`."""
    fields = {name: task[name] for name in ("prelude", "test_setup", "tests") if name in task}
    return {"id": key, "program": program, **fields}


def item(task, key, program):
    made = programs.item(entry(task, key, program))
    made["task"]["limits"] = LIMITS
    return made


def check_natively(python):
    """Tasks whose honest program does not solve them natively. Those that need a package are left
    out.
    """
    tasks = [task for task in load() if "needs" not in task]
    return programs.check_natively(
        python, [entry(task, task["task"], task["honest"]) for task in tasks]
    )


def run(binary, step=1):
    tasks = load()
    every = {
        f"{task['task']}/{attack['name']}": (task, attack)
        for task in tasks
        for attack in task["attacks"]
    }
    chosen = dict(list(every.items())[::step])
    items = [item(task, task["task"], task["honest"]) for task in tasks]
    items += [item(task, key, attack["program"]) for key, (task, attack) in chosen.items()]
    results = grading.grade(binary, items)
    problems, table = [], {}
    for name in (task["task"] for task in tasks):
        found = grading.word(results[name])
        if found != "accepted":
            problems.append(
                f"{name}: the honest program is {found}: {grading.reason(results[name])}"
            )
    for key, (task, attack) in chosen.items():
        found = grading.word(results[key])
        counts = table.setdefault(task["surface"], {})
        counts[found] = counts.get(found, 0) + 1
        excused = found == "ungradable" and attack.get("may_be_ungradable")
        if found == "accepted" or found in UNSCORED and not excused:
            problems.append(f"{key}: {found}: {grading.reason(results[key])}")
    for surface, counts in table.items():
        words = ", ".join(f"{word} {count}" for word, count in sorted(counts.items()))
        print(f"  {surface:42} {sum(counts.values()):4}  {words}")
    print(f"  {len(chosen)} attacks on {len(tasks)} tasks")
    return problems
