#!/usr/bin/env python3
"""Times reads of the record over HTTP, one request at a time: lists of grades with every
filter, runs, channels and the operator pages.

usage: reads.py PATH/TO/assay DATABASE [--rounds N] [--limit MS] [--only TEXT]

DATABASE is a file created by `assay-measure fill`; dataset checks are added to it. Each round sends
requests with other values: runs, steps, items and list positions, drawn with a fixed seed from the
record. Prints the time of the first request, and p50, p95 and maximum of the others, in
milliseconds; exits with 1 if any p95 is above the limit.
"""

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import time
from urllib.parse import quote, urlencode


class Server:
    def __init__(self, binary, database):
        self.process = subprocess.Popen(
            [
                binary,
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--database",
                f"sqlite://{os.path.abspath(database)}",
            ],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
        )
        for line in self.process.stderr:
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            if found:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", int(found.group(1)), timeout=120
                )
                return
        raise SystemExit("the server did not start")

    def get(self, path):
        """The body of a reply, and the milliseconds until it was complete."""
        began = time.perf_counter()
        self.connection.request("GET", path)
        reply = self.connection.getresponse()
        body = reply.read()
        took = (time.perf_counter() - began) * 1e3
        if reply.status != 200:
            raise SystemExit(f"{path} returned {reply.status}: {body[:300]!r}")
        return body, took

    def json(self, path):
        return json.loads(self.get(path)[0])

    def post(self, path, body):
        self.connection.request("POST", path, json.dumps(body))
        reply = self.connection.getresponse()
        said = reply.read()
        if reply.status != 200:
            raise SystemExit(f"{path} returned {reply.status}: {said[:300]!r}")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def grades(**query):
    return "/v1/grades?" + urlencode(
        {name: value for name, value in query.items() if value is not None}
    )


def checks(server):
    """Ids of dataset checks. Creates missing ones, because `assay-measure fill` creates none."""
    kept, findings = 300, 1_000
    for n in range(len(server.json(f"/v1/checks?limit={kept}")["checks"]), kept):
        name = f"train-{n % 7}.jsonl"
        told = [
            {
                "code": "refusal-accepted",
                "severity": "error",
                "dataset": name,
                "line": line,
                "key": f"{n}-{line}",
                "message": "a completion that says `I cannot help with that.` passes; add a test that rejects it",
            }
            for line in range(1, findings + 1)
        ]
        server.post(
            "/v1/checks",
            {
                "version": "0.1.0",
                "errors": findings,
                "warnings": 0,
                "counts": {"refusal-accepted": findings},
                "findings": told,
                "datasets": [{"dataset": name, "rows": 1_000_000, "checked": 1_000_000}],
            },
        )
    return [check["check"] for check in server.json(f"/v1/checks?limit={kept}")["checks"]]


def questions(server, draw):
    """Names of requests, with functions that return a path."""
    runs = server.json("/v1/runs")["runs"]
    by_size = sorted(runs, key=lambda run: -run["grades"])
    largest, names = by_size[0]["run"], [run["run"] for run in runs]
    steps = {run["run"]: run["last_step"] or 0 for run in runs}
    # Rows from all over the record: from the middle of each run.
    rows = []
    for name in names[:12]:
        rows += server.json(grades(run=name, step=steps[name] // 2, limit=20))["grades"]
    newest = server.json(grades(limit=1000))["grades"]
    row = lambda: draw.choice(rows)
    run = lambda: draw.choice(names)
    first_us, last_us = min(run["first_us"] for run in runs), max(run["last_us"] for run in runs)
    some_us = lambda: draw.randrange(first_us, last_us)
    channels = sorted({grade["channel"] for grade in rows + newest})
    verdicts = sorted({grade["verdict"] for grade in rows + newest if grade["verdict"]})
    graders = sorted({grade["grader"].split("@")[0] for grade in rows + newest})
    lists = {
        "all": lambda: {},
        "run": lambda: {"run": run()},
        "run, step": lambda: (lambda name: {"run": name, "step": draw.randint(0, steps[name])})(
            run()
        ),
        "run, absent": lambda: {"run": "never"},
        "grader": lambda: {"grader": draw.choice(graders)},
        "channel": lambda: {"channel": draw.choice(channels)},
        "verdict": lambda: {"verdict": draw.choice(verdicts)},
        "outcome=failed": lambda: {"outcome": "failed"},
        "outcome=ungradable": lambda: {"outcome": "ungradable"},
        "outcome=graded": lambda: {"outcome": "graded"},
        "appeal": lambda: {"appeal": draw.choice(["overturned", "upheld", "unjudged"])},
        "run, verdict": lambda: {"run": run(), "verdict": draw.choice(verdicts)},
        "run, grader": lambda: {"run": run(), "grader": draw.choice(graders)},
        "run, outcome=failed": lambda: {"run": run(), "outcome": "failed"},
        "run, appeal": lambda: {"run": run(), "appeal": "overturned"},
        "grader, verdict": lambda: {
            "grader": draw.choice(graders),
            "verdict": draw.choice(verdicts),
        },
        "channel, outcome=failed": lambda: {"channel": draw.choice(channels), "outcome": "failed"},
        "largest run, grader, verdict": lambda: {
            "run": largest,
            "grader": draw.choice(graders),
            "verdict": draw.choice(verdicts),
        },
        "item": lambda: {"id": row()["id"]},
        "item, absent": lambda: {"id": "never"},
        "group": lambda: {"group": row()["group"]},
        "group, absent": lambda: {"group": "never"},
        "run, group": lambda: (lambda grade: {"run": grade["run"], "group": grade["group"]})(row()),
        "run, item": lambda: (lambda grade: {"run": grade["run"], "id": grade["id"]})(row()),
        "batch": lambda: {"batch": row()["batch"]},
        "score, some": lambda: {"score_min": 0.3, "score_max": 0.7},
        "score, all but wrong": lambda: {"score_min": 0.000001},
        "score, none": lambda: {"score_min": 0.9001, "score_max": 0.9002},
        "run, score, some": lambda: {"run": run(), "score_min": 0.3, "score_max": 0.7},
        "largest run, score, none": lambda: {
            "run": largest,
            "score_min": 0.9001,
            "score_max": 0.9002,
        },
        "since": lambda: {"since_us": some_us()},
        "until": lambda: {"until_us": some_us()},
        "an hour": lambda: (lambda us: {"since_us": us, "until_us": us + 3_600_000_000})(some_us()),
        "run, an hour": lambda: (
            lambda us: {"run": run(), "since_us": us, "until_us": us + 3_600_000_000}
        )(some_us()),
        "step": lambda: {"step": draw.randint(0, 400)},
        "step, absent": lambda: {"step": 10_000_000},
    }
    asked = {
        f"grades: {name}": (lambda make: lambda: grades(**make()))(make)
        for name, make in lists.items()
    }
    for name in ["all", "run", "verdict", "run, verdict", "grader"]:
        make = lists[name]
        asked[f"grades: {name}, further down"] = (
            lambda make: lambda: grades(**make(), before=row()["grade"])
        )(make)
    asked["grades: all, 1000 rows"] = lambda: grades(limit=1000)
    asked["grade"] = lambda: "/v1/grades/" + row()["grade"]
    asked["runs"] = lambda: "/v1/runs"
    asked["run"] = lambda: f"/v1/runs/{quote(run(), safe='')}"
    asked["run, the largest, 10000 steps"] = lambda: (
        f"/v1/runs/{quote(largest, safe='')}?steps=10000"
    )
    asked["channels"] = lambda: "/v1/channels"
    known = checks(server)
    check = lambda: draw.choice(known)
    asked["checks"] = lambda: "/v1/checks"
    asked["check"] = lambda: "/v1/checks/" + check()
    pages = {
        "home": lambda: "/ui",
        "runs": lambda: "/ui/runs",
        "run": lambda: "/ui/run?" + urlencode({"name": run()}),
        "run, the largest": lambda: "/ui/run?" + urlencode({"name": largest}),
        "grades": lambda: "/ui/grades",
        "grades of a run, wrong": lambda: (
            "/ui/grades?" + urlencode({"run": run(), "verdict": "wrong_answer"})
        ),
        "grade": lambda: "/ui/grades/" + row()["grade"],
        "queue": lambda: "/ui/queue",
        "channels": lambda: "/ui/channels",
        "channel": lambda: "/ui/channel?" + urlencode({"name": draw.choice(channels)}),
        "disagreements": lambda: "/ui/disagreements",
        "suspects": lambda: "/ui/suspects?" + urlencode({"run": run()}),
        "prompts": lambda: "/ui/prompts?" + urlencode({"run": run()}),
        "compare": lambda: "/ui/compare?" + urlencode({"a": run(), "b": run()}),
        "cost": lambda: "/ui/cost",
        "cost of a run": lambda: "/ui/cost?" + urlencode({"run": run()}),
        "grades by score": lambda: "/ui/grades?score_min=0.9",
        "grades of a run, truncated": lambda: (
            "/ui/grades?" + urlencode({"run": run(), "truncated": "true"})
        ),
        "checks": lambda: "/ui/checks",
        "check": lambda: "/ui/checks/" + check(),
    }
    asked.update({f"page: {name}": make for name, make in pages.items()})
    return asked


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("database")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--limit", type=float, default=100.0, help="maximum p95 in milliseconds")
    parser.add_argument("--only", default="", help="only requests whose name contains this")
    arguments = parser.parse_args()
    draw = random.Random(1)
    server = Server(os.path.abspath(arguments.binary), arguments.database)
    slow = []
    try:
        print(f"{'ms':40} {'first':>8} {'p50':>8} {'p95':>8} {'max':>8}")
        for name, path in questions(server, draw).items():
            if arguments.only not in name:
                continue
            times = [server.get(path())[1] for _ in range(arguments.rounds + 1)]
            first, rest = times[0], sorted(times[1:])
            p50, p95 = rest[len(rest) // 2], rest[min(len(rest) - 1, int(len(rest) * 0.95))]
            if p95 > arguments.limit:
                slow.append(name)
            mark = " *" if p95 > arguments.limit else ""
            print(f"{name:40} {first:8.1f} {p50:8.1f} {p95:8.1f} {rest[-1]:8.1f}{mark}", flush=True)
    finally:
        server.stop()
    if slow:
        sys.exit(f"above {arguments.limit:g} ms: {', '.join(slow)}")


if __name__ == "__main__":
    main()
