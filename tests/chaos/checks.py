"""The checks after the faults. Each prints a line."""

import json
import re
import sqlite3
import time
from urllib.parse import urlencode

from items import key_of
from node import DATABASE, STOP_DEADLINE, usage

READY_SECONDS = 15
LAG_SECONDS = 60
# The service caches compiled programs, program runs and query runs, up to 64 MiB each.
NODE_MEMORY = 3 * 64
# The service returns memory that it no longer uses at least this often.
RETURN_SECONDS = 200
# A worker caches up to 256 MiB of databases; the items here have many small ones.
WORKER_MEMORY = 64
NODE_DESCRIPTORS, WORKER_DESCRIPTORS = 16, 2
# Files of the record while no node runs: the database contains everything.
LEFT = re.compile(
    r"assay\.db|assay\.db\.spool(/identity)?|assay\.db\.sessions(/(lock|journals|states))?"
)


class Checks:
    """The checks of a run so far."""

    def __init__(self):
        self.lines = []

    def check(self, good, what, examples=""):
        self.lines.append((bool(good), what))
        print(f"{'ok  ' if good else 'FAIL'}   {what}{'' if good else examples}", flush=True)

    @property
    def failed(self):
        return [what for good, what in self.lines if not good]


def told(checks, ledger):
    """Clients received the results of the quiet run, failures of the service, or allowed
    rejections.
    """
    checks.check(
        not ledger.wrong.count,
        f"{ledger.counts['results']} results and {ledger.counts['calls']} calls as in the quiet run, "
        f"{ledger.wrong.count} not",
        ledger.wrong,
    )
    same, other = ledger.undetermined.count, ledger.disagreeing.count
    checks.check(
        not other,
        f"{same + other} results of programs and queries have `deterministic: false`, {other} a different verdict",
        ledger.disagreeing,
    )
    checks.check(
        not ledger.bad_failures.count,
        f"{sum(ledger.failed.values())} failed results have no numbers and are retryable",
        ledger.bad_failures,
    )
    checks.check(
        not ledger.contradictions.count,
        "no grade was returned with two different verdicts",
        ledger.contradictions,
    )
    checks.check(
        not ledger.repeated.count,
        f"{ledger.counts['answers repeated']} answers to repeated keyed requests have the same bytes",
        ledger.repeated,
    )
    checks.check(
        not ledger.unexpected.count,
        "no status except 200, and 429, 503 and 504 with `Retry-After`",
        ledger.unexpected,
    )
    checks.check(
        not ledger.unanswered.count,
        "every item was graded and every call answered in the end",
        ledger.unanswered,
    )


def recovers(checks, node, model, after):
    """The node is ready within seconds and the database catches up."""
    seconds = node.wait_until_ready(model, READY_SECONDS)
    checks.check(
        seconds is not None,
        f"ready {'?' if seconds is None else format(seconds, '.1f')} s after {after} "
        f"(at most {READY_SECONDS})",
        f": {node.readiness()}",
    )
    began, record = time.monotonic(), {}
    while time.monotonic() - began < LAG_SECONDS:
        record = node.readiness()[1].get("record") or {}
        if record.get("pending") == 0 and record.get("apply_error") is None:
            break
        time.sleep(0.1)
    checks.check(
        record.get("pending") == 0,
        f"nothing waits for the database {time.monotonic() - began:.1f} s later "
        f"(at most {LAG_SECONDS})",
        f": {record}",
    )
    checks.check(record.get("set_aside") == 0, "no entry is set aside", f": {record}")


def rows(node, run):
    """Every row of a run, page by page."""
    before = None
    while True:
        query = {"run": run, "limit": 1000, **({"before": before} if before else {})}
        status, body = node.get("/v1/grades?" + urlencode(query), timeout=60)
        if status != 200:
            raise SystemExit(f"the record cannot be read: {status} {body[:300]!r}")
        page = json.loads(body)
        yield from page["grades"]
        before = page["next"]
        if before is None:
            return


def recorded(checks, node, ledger, runs):
    """Every acknowledged grade is in the record once, as it was returned; other rows are as in the
    quiet run.
    """
    found, sent, twice, wrong, differing = {}, set(), [], [], []
    for run in runs:
        for row in rows(node, run):
            if row["grade"] in found:
                twice.append(f"grade {row['grade']}")
            # Each attempt has new ids, unless it has a key.
            if (run, row["id"]) in sent:
                twice.append(f"{row['id']} of {run}")
            sent.add((run, row["id"]))
            found[row["grade"]] = now = (row["id"], row["outcome"], row["verdict"], row["score"])
            before = ledger.acknowledged.get(row["grade"])
            if before is not None and before != now:
                differing.append(f"grade {row['grade']}: returned {before}, recorded {now}")
            expected = ledger.expected[key_of(row["id"])]
            quiet = (row["id"], expected["outcome"], expected["verdict"], expected["score"])
            if now != quiet and (
                row["outcome"] != "failed" or row["score"] is not None or row["reward"] is not None
            ):
                wrong.append(f"grade {row['grade']}: {now}, in the quiet run {quiet[1:]}")
    lost = [
        f"grade {grade}: {said}"
        for grade, said in ledger.acknowledged.items()
        if grade not in found
    ]
    told_count = len(ledger.acknowledged)
    checks.check(
        told_count and not lost,
        f"{told_count} grades were returned as recorded, {len(lost)} are not in the record",
        examples(lost),
    )
    checks.check(
        not differing,
        f"{len(differing)} of them have a different score or verdict in the record",
        examples(differing),
    )
    checks.check(
        not twice,
        f"{len(found)} rows in the record, {len(twice)} duplicate items or grades",
        examples(twice),
    )
    checks.check(
        not wrong,
        f"{len(wrong)} rows with a score or verdict different from the quiet run",
        examples(wrong),
    )


def examples(problems):
    return "".join(f"\n       {problem}" for problem in problems[:10]) + (
        "\n       …" if len(problems) > 10 else ""
    )


def measure(node):
    """Memory in MiB and descriptors of the node, and the highest values of a worker."""
    of_workers = [usage(pid) for pid in node.workers()]
    return {
        "node": usage(node.process.pid),
        "workers": len(of_workers),
        "worker": (
            max((pss for pss, _ in of_workers), default=0),
            max((files for _, files in of_workers), default=0),
        ),
    }


def returned_memory(node, most):
    """Memory of the node in MiB once it is at most `most`, or the last of RETURN_SECONDS; and the
    seconds that this took.
    """
    began = time.monotonic()
    while True:
        pss, _ = usage(node.process.pid)
        seconds = time.monotonic() - began
        if pss <= most or seconds > RETURN_SECONDS:
            return pss, seconds
        time.sleep(1)


def flat(checks, node, before):
    """Memory and descriptors are about what they were after the warm-up, and there are no
    zombies.
    """
    # A pool for programs and one for queries; a worker that died is replaced when it is needed.
    most = 2 * node.count
    for _ in range(60):
        # Connections of the last requests are closed with a delay.
        after = measure(node)
        zombies = [pid for pid, state in node.children().items() if state == "Z"]
        if (
            not zombies
            and after["node"][1] <= before["node"][1] + NODE_DESCRIPTORS
            and 0 < after["workers"] <= most
        ):
            break
        time.sleep(0.25)
    (was, had), (_, files) = before["node"], after["node"]
    pss, seconds = returned_memory(node, was + NODE_MEMORY)
    checks.check(
        pss <= was + NODE_MEMORY,
        f"memory of the node {seconds:.0f} s after the last round: {pss:.0f} MiB, after the warm-up "
        f"{was:.0f} (at most {NODE_MEMORY} more)",
    )
    checks.check(
        files <= had + NODE_DESCRIPTORS,
        f"descriptors of the node: {files}, after the warm-up {had} "
        f"(at most {NODE_DESCRIPTORS} more)",
    )
    (was, had), (pss, files) = before["worker"], after["worker"]
    checks.check(
        pss <= was + WORKER_MEMORY,
        f"memory of the largest worker: {pss:.0f} MiB, after the warm-up {was:.0f} "
        f"(at most {WORKER_MEMORY} more)",
    )
    checks.check(
        files <= had + WORKER_DESCRIPTORS,
        f"descriptors of a worker: {files}, after the warm-up {had} "
        f"(at most {WORKER_DESCRIPTORS} more)",
    )
    checks.check(0 < after["workers"] <= most, f"{after['workers']} workers, at most {most}")
    checks.check(not zombies, f"{len(zombies)} zombies among the children of the node")


def stopped(checks, node, stops):
    """The node ends in time on SIGTERM and leaves nothing but the database and an empty spool."""
    stops = [*stops, node.terminate()]
    late = [
        f"status {status} after {seconds:.1f} s"
        for status, seconds in stops
        if status != 0 or seconds > STOP_DEADLINE + 1
    ]
    checks.check(
        not late,
        f"{len(stops)} SIGTERMs: status 0 within {max(seconds for _, seconds in stops):.1f} s "
        f"(allowed {STOP_DEADLINE})",
        examples(late),
    )
    left = [str(path.relative_to(node.record)) for path in node.record.rglob("*")]
    surplus = [name for name in left if not LEFT.fullmatch(name)]
    checks.check(
        not surplus,
        f"{len(surplus)} files left in addition to the database and an empty spool",
        examples(surplus),
    )
    database = sqlite3.connect(node.record / DATABASE)
    (whole,) = database.execute("pragma integrity_check").fetchone()
    database.close()
    checks.check(whole == "ok", f"SQLite's integrity check: {whole}")
    panics = re.findall(r".*panicked at.*", node.said())
    checks.check(not panics, f"{len(panics)} panics in the log", examples(panics))


def struck(checks, faults, ledger, kinds, seconds):
    """Every kind of fault occurred and had an effect, and no fault ended the node or failed."""
    missing = [f"{kind}: none" for kind in kinds if not faults.counts[kind]]
    if faults.disk and not ledger.counts["not recorded"]:
        missing.append("full disks: no result was left unrecorded")
    if not ledger.counts["answers repeated"]:
        missing.append("no keyed request was repeated")
    # Shorter runs may miss a kind.
    if seconds >= 120 or not missing:
        checks.check(not missing, "every kind of fault occurred", examples(missing))
    checks.check(
        not faults.problems,
        f"{len(faults.problems)} problems with the faults",
        examples(faults.problems),
    )
