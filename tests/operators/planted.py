#!/usr/bin/env python3
"""Answers ten questions of operators on the pages, as an operator would: follows links and sends
forms from the overview, on a record of three runs with planted causes.

usage: planted.py PATH/TO/assay [--items N]

The rollouts are graded over HTTP on a temporary record. Some items fail because the node does not
have their image. A click is one followed link or one sent form of the current page; ticking and
typing are none. A question is `answered` if the pages name what was planted within four clicks,
`partly` if they name a part of it or need more clicks, and otherwise `not answered`. Prints for
each question: clicks, milliseconds of each page, what was found. Exits with 1 if a question is
answered worse than `EXPECTED`.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile

import rollouts
from browser import Missing, Walk
from node import Node
from rollouts import PLANTED

MAX_CLICKS = 4
LEVELS = NO, PARTLY, YES = "not answered", "partly", "answered"
EXPECTED = [YES, YES, PARTLY, YES, YES, NO, PARTLY, YES, PARTLY, YES]


def check(condition, message):
    if not condition:
        raise Missing(message)


def select(graded, run, first=0, last=rollouts.STEPS, **values):
    return [
        one
        for one in graded
        if one.run == run and first <= one.step <= last
        if all(getattr(one, name) == value for name, value in values.items())
    ]


def shown(texts):
    return ", ".join(sorted(texts))


def drop(walk, graded):
    """Why did the reward drop at step 180?"""
    page = walk.follow("run-a")
    step = int(page.form("/ui/run")["fields"]["from"])
    chosen = f"step {step}"
    if step != rollouts.FALL:
        check(abs(step - rollouts.FALL) <= 10, f"the page says that the reward fell at {chosen}")
        step = rollouts.FALL
        page = walk.send("/ui/run", {"from": step, "to": step + 19})
    check("Of the verdicts, `no_answer` contributes most" in page.text, "no sentence on the cause")
    channel = page.rows("By channel")[0]
    check(channel["Value"] == "math/algebra", f"{channel['Value']} contributes most")
    page = walk.follow("math/algebra", channel)
    fields = page.form("/ui/grades")["fields"]
    check((fields["run"], fields["step_min"]) == ("run-a", str(step)), f"the filter is {fields}")
    steps = step, int(fields["step_max"])
    empty = select(graded, "run-a", *steps, channel="math/algebra", verdict="no_answer")
    check(f" no_answer {len(empty)} " in page.text, f"no count of {len(empty)} `no_answer`")
    right = {one.id for one in empty if one.right}
    row = next((row for row in page.rows("Grades") if row["Item"] in right), None)
    check(row and row["Cause"], "no row with a cause")
    page = walk.follow(row["Time"], row)
    for text in ("Final answer: ", "extract boxed", "channel math/algebra", "run run-a"):
        check(text in page.text, f"no `{text}` on the page of the grade")
    check(r"\boxed" not in page.text, "the completion has a box")
    part = f"step {step} (the page proposes {chosen}), math/algebra {channel['Contribution']}"
    return YES, f"{part}, {len(empty)} no_answer, cause `{row['Cause']}`, completion without box"


def never_and_always(walk, graded):
    """Which prompts are never solved, and which always?"""
    walk.follow("run-a")
    walk.follow("Prompts")
    never, always = PLANTED["never"] | PLANTED["gold"], PLANTED["always"]
    for status, planted in [("never solved", never), ("always solved", always)]:
        found = {row["Prompt"] for row in walk.follow(status).rows("Runs")}
        check(found == planted, f"{status}: {shown(found)}, not {shown(planted)}")
    other = Walk(walk.port)
    other.follow("run-a")
    other.follow("Prompts")
    lost = {row["Prompt"] for row in other.follow("lost").rows("Runs")}
    check(PLANTED["lost"] <= lost, f"lost: {shown(lost)}, without {shown(PLANTED['lost'])}")
    text = f"never {shown(never)}; always {shown(always)}"
    return YES, f"{text}; {shown(PLANTED['lost'])} is among {len(lost)} lost ones"


def suspicious(walk, graded):
    """Which passes are suspicious?"""
    walk.follow("run-a")
    page = walk.follow("Suspects")
    answer = page.find("Same answer", rollouts.REPEATED_ANSWER)
    check(answer["Passed"] == "100.0 %", f"the repeated answer: {answer}")
    found = {int(row["Item"].split("-")[-1]): row["Contains"] for row in page.rows("Passing code")}
    check(found.items() <= rollouts.SUSPICIOUS.items(), f"programs that were not planted: {found}")
    missed = rollouts.SUSPICIOUS.keys() - found.keys()
    check(max(missed, default=0) < rollouts.REPEATED, f"the program of step {missed} is not listed")
    onset = page.find("Changes over", "truncation")["From step"]
    check(abs(int(onset) - rollouts.TRUNCATION) <= 20, f"truncation from step {onset}")
    clean = Walk(walk.port)
    clean.follow("run-c")
    alarms = clean.follow("Suspects").tables.keys() - {"Length of completions"}
    check(not alarms, f"on the clean run: {alarms}")
    text = f"answer 50 in {answer['Groups']} groups, {shown(found.values())}"
    text += f", truncation from step {onset}, nothing on the clean run"
    if not missed:
        return YES, text
    return PARTLY, f"{text}; not the program of step {max(missed)}, older than 1,000 grades"


def failing(walk, graded):
    """Which grader fails, and why?"""
    page = walk.follow("All failures")
    failed = {one.id for one in select(graded, "run-a", outcome="failed")}
    check({row["Item"] for row in page.rows("Grades")} == failed, "other rows than failed items")
    (cause,) = {(row["Channel"], row["Cause"]) for row in page.rows("Grades")}
    check(cause == ("code/javascript", "grader_unavailable"), f"failed: {cause}")
    row = page.rows("Grades")[0]
    page = walk.follow(row["Time"], row)
    reason = re.search("the image `javascript` is not installed on this node", page.text)
    check(reason and "grader code@" in page.text, "no reason or grader on the page of the grade")
    return YES, f"{len(failed)} items of {cause[0]}, {cause[1]}: {reason[0]}"


def compared(walk, graded):
    """How does run A differ from run B?"""
    walk.follow("Runs")
    page = walk.send("/ui/compare", ticked=("run-a", "run-b"))
    a, b = (page.form("/ui/compare")["fields"][name] for name in "ab")
    rewards = [[one.reward for one in select(graded, run, outcome="graded")] for run in (a, b)]
    true = statistics.mean(rewards[1]) - statistics.mean(rewards[0])
    row = page.find("Runs / Compare", "mean reward")
    told, low, high = map(float, re.findall(r"[-+]?\d\.\d+", row["Difference (95 % interval)"]))
    check({a, b} == {"run-a", "run-b"} and abs(told - true) < 6e-4, f"{told}, not {true:.4f}")
    check(low < told < high and low * high > 0, f"the interval is {low} to {high}")
    grades = page.find("Runs / Compare", "grades")
    sent = [f"{len(select(graded, run)):,}" for run in (a, b)]
    check([grades["A"], grades["B"]] == sent, f"{grades}, not {sent}")
    channel = page.rows("By channel")[0]
    check(channel["Value"] == "math/algebra", f"{channel['Value']} contributes most")
    flipped = {row["Prompt"] for row in page.rows("Prompts")}
    check(PLANTED["never"] | PLANTED["gold"] <= flipped, f"only {shown(flipped)} flipped")
    text = f"{b} - {a}: {told} ({low} to {high}), by the replies {true:.3f}"
    return YES, f"{text}; math/algebra {channel['Contribution']}; {len(flipped)} prompts flipped"


def word(walk, graded):
    """Which completions contain a word?"""
    names = {"text", "search", "q", "contains", "word", "regex", "completion"}
    planted = {one.id for one in graded if one.word}
    for form in walk.page.forms + walk.follow("Grades").forms:
        for name in names & form["fields"].keys():
            page = walk.send(form["action"], {name: rollouts.WORD})
            items = {row["Item"] for row in page.rows("Grades")}
            check(items and items <= planted, f"{len(items - planted)} items without the word")
            return YES, f"{len(items)} items on the first page"
    return NO, "there is no text search: neither page has a field for a word or regular expression"


def wrong_zero(walk, graded):
    """Is the 0 of item X wrong: explained, replayed, adjudicated?"""
    (key,) = PLANTED["gold"]
    named = select(graded, "run-a", key=key, verdict="wrong_answer", right=True)[0].id
    walk.follow("Grades")
    row = walk.send("/ui/grades", {"id": named}).find("Grades", named)
    gold, got = row["Expected"], row["Got"]
    check(int(got) == 2 * int(gold), f"expected {gold}, got {got}")
    page = walk.follow(row["Time"], row)
    check(f"expected {gold} actual {got}" in page.text, "the page does not compare both")
    address = page.address
    page = walk.send(f"{address}/replay")
    check("Replay: same result" in page.text, "the replay has another result")
    right, note = [("decision", "right")], {"note": "the gold is wrong"}
    page = walk.send(f"{address}/adjudicate", note, button=right)
    check(note["note"] in page.text and "not drawn" in page.text, "no adjudication on the page")
    text = f"{gold} expected, {got} given: explained after 3 clicks"
    return YES, f"{text}, replayed after 4, adjudicated after 5"


def noisy(walk, graded):
    """Is the verifier noisy?"""
    row = walk.follow("Channels").find("Channels", "math/decimals@2")
    right = [one for one in graded if one.channel == "math/decimals" and one.right]
    true = sum(not one.passed for one in right) / len(right)
    rates = re.findall(r"\d\.\d+", row["False negatives"])
    check(len(rates) == 3, f"false negatives: {row['False negatives']}")
    rate, low, high = map(float, rates)
    # One of twenty intervals does not contain the true rate, hence the margin.
    check(low - 0.01 <= true <= high + 0.01, f"{low} to {high} without the true {true:.3f}")
    return YES, f"math/decimals rejects {rate} ({low} to {high}) of right answers; true {true:.3f}"


def costs(walk, graded):
    """What costs what?"""
    page = walk.follow("Storage")
    row = page.find("By run and caller", "run-a")
    check(row["Grades"] == f"{len(select(graded, 'run-a')):,}", f"grades: {row['Grades']}")
    text = f"bytes by run and caller ({row['Values of grades']} and {row['Bodies']} for run-a)"
    missed = f"the slow programs of {shown(PLANTED['costly'])}"
    return PARTLY, f"{text}; no page has times by grader, or leads to {missed}"


def alert(walk, graded):
    """Is there an alert above 1 %?"""
    row, last = walk.page.find("Open problems", "failures"), rollouts.STEPS - 10
    failed = len(select(graded, "run-a", last, outcome="failed"))
    message = f"{failed} of {len(select(graded, 'run-a', last))} items failed in the last 10 steps"
    check((row["What"], row["Where"]) == (message, "run-a"), f"{row}, not {message}")
    rows = walk.follow(message).rows("Grades")
    check({row["Verdict"] for row in rows} == {"failed"}, "other rows than failed items")
    return YES, f"run-a: {message}; the link lists {len(rows)} of all steps"


QUESTIONS = [
    drop, never_and_always, suspicious, failing, compared, word, wrong_zero, noisy, costs, alert
]  # fmt: skip


def ask(port, graded):
    """Prints the answers, and returns those that are worse than before."""
    worse = []
    for number, (question, before) in enumerate(zip(QUESTIONS, EXPECTED, strict=True), 1):
        walk = Walk(port)
        try:
            level, found = question(walk, graded)
        except (Missing, LookupError, ValueError) as error:
            level, found = NO, f"{error}"
        if walk.clicks > MAX_CLICKS:
            level = min(level, PARTLY, key=LEVELS.index)
        took = " ".join(f"{1e3 * seconds:.0f}" for seconds in walk.seconds)
        print(f"{number:2} {question.__doc__} {level}, {walk.clicks} clicks, {took} ms: {found}")
        if LEVELS.index(level) < LEVELS.index(before):
            worse.append(f"{number} ({before} before)")
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--items", type=int, default=48, help="about as many items a step")
    arguments = parser.parse_args()
    # With fewer, the fall is not clear on the page; with more, prompts occur twice in a step.
    if not 48 <= arguments.items <= 96:
        parser.error("`--items` must be 48 to 96")
    with tempfile.TemporaryDirectory() as folder:
        node = Node(os.path.abspath(arguments.binary), folder)
        try:
            graded = rollouts.grade_all(node.call, arguments.items)
            node.await_alerts()
            print(f"{len(graded)} grades of 3 runs and {rollouts.STEPS} steps", flush=True)
            worse = ask(node.port, graded)
        finally:
            node.stop()
    if worse:
        sys.exit(f"answered worse than before: {', '.join(worse)}")


if __name__ == "__main__":
    main()
