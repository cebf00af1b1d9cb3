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
EXPECTED = [YES] * 10


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
    found = re.search(r"B: steps (\d+) to", page.text)
    check(found, "the page compares no steps")
    step = int(found[1])
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
    cause = "no box in the completion; the task accepts only boxed answers"
    check(row and row["Cause"] == cause, f"the cause is {row and row['Cause']}")
    page = walk.follow(row["Time"], row)
    for text in (cause, "Final answer: ", "extract boxed", "channel math/algebra", "run run-a"):
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
    suspect = other.follow("gold suspect").rows("Runs")
    (gold,) = PLANTED["gold"]
    check([row["Prompt"] for row in suspect] == [gold], f"gold suspects: {suspect}")
    solution = str(rollouts.SOLUTIONS["algebra"][int(gold.split("-")[1])])
    answers = suspect[0]["Expected"], suspect[0]["Most frequent wrong answer"].split()[0]
    check(answers == (str(int(solution) // 2), solution), f"the answers are {answers}")
    other = Walk(walk.port)
    other.follow("run-a")
    other.follow("Prompts")
    lost = {row["Prompt"] for row in other.follow("lost").rows("Runs")}
    check(PLANTED["lost"] <= lost, f"lost: {shown(lost)}, without {shown(PLANTED['lost'])}")
    text = f"never {shown(never)}; always {shown(always)}"
    text += f"; {shown(PLANTED['lost'])} is among {len(lost)} lost ones"
    return YES, f"{text}; suspect gold: {gold}, expects {answers[0]}, most say {answers[1]}"


def suspicious(walk, graded):
    """Which passes are suspicious?"""
    walk.follow("run-a")
    page = walk.follow("Suspects")
    answer = page.find("Same answer", rollouts.REPEATED_ANSWER)
    first = int(answer["First step"])
    check(abs(first - rollouts.REPEATED) <= 20, f"the repeated answer: {answer}")
    found = {}
    for row in page.rows("Passing grades"):
        found[row["Text or channel"]] = row["First step"], row["Last step"], row["Grades"]
    planted = {}
    for step, sign in sorted(rollouts.SUSPICIOUS.items()):
        begun, _, grades = planted.get(sign, (str(step), "", "0"))
        planted[sign] = begun, str(step), str(int(grades) + 1)
    check(found == planted, f"programs with {found}, not {planted}")
    onset = page.find("Changes over", "truncation")["From step"]
    check(abs(int(onset) - rollouts.TRUNCATION) <= 20, f"truncation from step {onset}")
    began = page.find("Changes over", "repeated_answers")["From step"]
    check(abs(int(began) - rollouts.REPEATED) <= 20, f"repeated answers from step {began}")
    clean = Walk(walk.port)
    clean.follow("run-c")
    alarms = clean.follow("Suspects").tables.keys() - {"Length of completions"}
    check(not alarms, f"on the clean run: {alarms}")
    text = f"answer 50 for {answer['Expected answers']} golds from step {began}, {shown(found)}"
    return YES, f"{text}, truncation from step {onset}, nothing on the clean run"


def failing(walk, graded):
    """Which grader fails, and why?"""
    page = walk.follow("All failures")
    failed = {one.id for one in select(graded, "run-a", outcome="failed")}
    check({row["Item"] for row in page.rows("Grades")} == failed, "other rows than failed items")
    (cause,) = {(row["Channel"], row["Cause"]) for row in page.rows("Grades")}
    reason = "the image `javascript` is not installed on this node"
    check(cause[0] == "code/javascript" and reason in cause[1], f"failed: {cause}")
    check("cause grader_unavailable" in page.text, "no count of the cause")
    row = page.rows("Grades")[0]
    page = walk.follow(row["Time"], row)
    reason = re.search("the image `javascript` is not installed on this node", page.text)
    check(reason and "grader code@" in page.text, "no reason or grader on the page of the grade")
    return YES, f"{len(failed)} items of {cause[0]}: {reason[0]}"


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
    """Which completions contain a word, or match a regular expression?"""
    names = {"text", "search", "q", "contains", "word", "regex", "completion"}
    planted = {one.id for one in graded if one.word}
    for form in walk.page.forms + walk.follow("Grades").forms:
        for name in names & form["fields"].keys():
            found = []
            # The word, and a regular expression that no word of the index answers.
            for search in (rollouts.WORD, f"/{rollouts.WORD[:4]}[a-z]+/"):
                page = walk.send(form["action"], {name: search})
                items = {row["Item"] for row in page.rows("Grades")}
                check(items and items <= planted, f"{len(items - planted)} items without the word")
                found.append(len(items))
            return YES, f"items on the first page: {found[0]} by word, {found[1]} by expression"
    return NO, "neither page has a field for a word or regular expression"


def wrong_zero(walk, graded):
    """Is the 0 of item X wrong: explained, replayed, adjudicated?"""
    (key,) = PLANTED["gold"]
    named = select(graded, "run-a", key=key, verdict="wrong_answer", right=True)[0].id
    row = walk.send("/ui/grades", {"id": named}).find("Grades", named)
    gold, got = row["Expected"], row["Got"]
    check(int(got) == 2 * int(gold), f"expected {gold}, got {got}")
    page = walk.follow(row["Time"], row)
    check(f"expected {gold} actual {got}" in page.text, "the page does not compare both")
    address, _, query = page.address.partition("?")
    page = walk.send(f"{address}/replay?{query}")
    check("Replay: same result" in page.text, "the replay has another result")
    right, note = [("decision", "right")], {"note": "the gold is wrong"}
    page = walk.send(f"{address}/adjudicate?{query}", note, button=right)
    check(note["note"] in page.text and "not drawn" in page.text, "no adjudication on the page")
    text = f"{gold} expected, {got} given: explained after 2 clicks"
    return YES, f"{text}, replayed after 3, adjudicated after 4"


def noisy(walk, graded):
    """Is the verifier noisy?"""
    row = walk.follow("Verifier").find("Verifier", "math/decimals@2")
    right = [one for one in graded if one.channel == "math/decimals" and one.right]
    true = sum(not one.passed for one in right) / len(right)
    rates = re.findall(r"\d\.\d+", row["False negatives"])
    check(len(rates) == 3, f"false negatives: {row['False negatives']}")
    rate, low, high = map(float, rates)
    # One of twenty intervals does not contain the true rate, hence the margin.
    check(low - 0.01 <= true <= high + 0.01, f"{low} to {high} without the true {true:.3f}")
    page = walk.follow("math/decimals@2", row)
    judged = page.find("By policy", "appealed")
    check(judged["A judge could check"] == "100.0 %", f"by policy: {judged}")
    text = f"math/decimals rejects {rate} ({low} to {high}) of right answers; true {true:.3f}"
    step = re.search(r"Next (.*?) items ", page.text)
    check(step, "no next step")
    return YES, f"{text}; next: {step[1]}"


def costs(walk, graded):
    """What costs what?"""
    page = walk.follow("Cost")
    row = page.find("By run", "run-a")
    check(row["Grades"] == f"{len(select(graded, 'run-a')):,}", f"grades: {row['Grades']}")
    code = page.rows("By grader")[0]
    check(code["Grader"] == "code", f"the most expensive grader is {code['Grader']}")
    slow = page.rows("Slowest grades")
    (costly,) = PLANTED["costly"]
    named = sum(row["Prompt"] == costly for row in slow)
    check(named * 2 > len(slow), f"{costly} has {named} of the {len(slow)} slowest grades")
    page = walk.follow(slow[0]["Grading"], slow[0])
    check("for i in range(400000)" in page.text, "the program has no long loop")
    text = f"code {code['Share']} of the grading time, {code['CPU']} CPU; run-a {row['Bytes']}"
    return YES, f"{text}; {named} of the {len(slow)} slowest grades are of {costly}"


def alert(walk, graded):
    """Is there an alert above 1 %?"""
    row, last = walk.page.find("Open problems", "failures"), rollouts.STEPS - 10
    failed = len(select(graded, "run-a", last, outcome="failed"))
    message = f"{failed} of {len(select(graded, 'run-a', last))} items failed in the last 10 steps"
    check((row["What"], row["Where"]) == (message, "run-a"), f"{row}, not {message}")
    rows = walk.follow(message).rows("Grades")
    check({row["Verdict"] for row in rows} == {"failed"}, "other rows than failed items")
    other = Walk(walk.port)
    row = other.page.find("Open problems", "truncation")
    cut = int(row["What"].split()[0].replace(",", ""))
    page = other.follow(row["What"])
    counted = re.search(r"truncated (?:.*? )?yes ([\d,]+)", page.text)
    check(counted and int(counted[1].replace(",", "")) == cut, f"{counted} truncated, not {cut}")
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
