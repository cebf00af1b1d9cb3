#!/usr/bin/env python3
"""Grades a mixed load while faults strike the service, and compares every reply and the record with
a run without faults.

usage: run.py PATH/TO/assay [--minutes N] [--seed N] [--workers N] [--clients N] [--connections N]
[--disk MIB] [--without-disk] [--attackers]

`--minutes` is the time of the whole run. Faults: workers are killed, crashed and stopped; the disk
of the record is filled; connections are left open in every state; the database is locked; the node
is stopped by SIGTERM and SIGKILL. With `--attackers`, a hostile caller makes each attack of
`tests/sharing` in turn. The seed determines the items and the faults, but not their timing relative
to each other. Exits with 1 if a check fails, or if a kind of fault never occurs in a run of two
minutes or more.
"""

import argparse
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "openapi"))

import attackers  # noqa: E402, modules beside this one
import checks  # noqa: E402
import disk  # noqa: E402
import items  # noqa: E402
import load  # noqa: E402
from faults import KINDS, Faults  # noqa: E402
from ledger import Ledger  # noqa: E402
from node import Node  # noqa: E402
from service import write_model  # noqa: E402, of `tests/openapi`

RUNS = ["quiet", "warm", "chaos", "unread", "last"]
LAST_ANSWERS = 90
LEAST_FAULTS = 10


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--workers", type=int, default=4, help="workers of each kind, for programs and for queries"
    )
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument(
        "--connections", type=int, default=400, help="most connections left open at once"
    )
    parser.add_argument(
        "--disk",
        type=int,
        default=None,
        help="size of the disk of the record in MiB, taken from memory",
    )
    parser.add_argument(
        "--without-disk", action="store_true", help="run without the fault of a full disk"
    )
    parser.add_argument(
        "--attackers", action="store_true", help="also run the attacks of `tests/sharing`"
    )
    parser.add_argument(disk.INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def say(text):
    print(text, flush=True)


def table(title, counts):
    say(f"\n{title}")
    for name, count in sorted(counts.items(), key=lambda pair: str(pair[0])):
        say(f"  {str(name):42} {count:9}")


def quiet(found, node, ledger, made, asked, run, learn=False):
    """A round without faults; returns its seconds."""
    began = time.monotonic()
    problems = load.quiet_round(node, ledger, made, asked.seed, run, asked.clients, learn)
    if learn:
        for key, item in made.items():
            expected = ledger.expected.get(key)
            now = expected and (expected["verdict"] or expected["outcome"])
            if now != item.verdict:
                problems.append(f"{key}: {now}, expected {item.verdict}")
    found.check(
        not problems,
        f"round `{run}`: {len(made)} items in {time.monotonic() - began:.1f} s, {len(problems)} problems",
        checks.examples(problems),
    )
    return time.monotonic() - began


def chaos(asked, node, record_disk, found, ledger):
    """The whole run."""
    began = time.monotonic()
    made = items.make(asked.seed)
    node.start()
    if node.wait_until_ready(items.MODEL, 60) is None:
        raise SystemExit("the node was not ready within a minute")
    took = quiet(found, node, ledger, made, asked, "quiet", learn=True)
    if found.failed:
        return None
    took = max(took, quiet(found, node, ledger, made, asked, "warm"))
    before = checks.measure(node)
    # Leaves time for outstanding answers, another round and the checks.
    seconds = 60 * asked.minutes - (time.monotonic() - began) - 2 * took - 10
    if seconds < LEAST_FAULTS:
        raise SystemExit(
            f"{60 * asked.minutes:.0f} s leave {seconds:.0f} s for faults; raise `--minutes`"
        )
    say(f"       faults for {seconds:.0f} s")
    mixed = load.Load(node, ledger, made, RUNS, asked.seed, asked.clients)
    faults = Faults(node, record_disk, mixed, made, asked.seed, seconds, asked.connections)
    mixed.start("chaos")
    hostile = attackers.Attackers(node, attackers.names()) if asked.attackers else None
    faults.run()
    if hostile:
        hostile.stop()
        table("attacks, of 20 s each", hostile.counts)
        missing = [name for name in hostile.chosen if not hostile.counts[name]]
        expected = 60 * asked.minutes > 2 * attackers.SECONDS * len(hostile.chosen)
        found.check(not (expected and missing), "every attack was made", checks.examples(missing))
    if node.process.poll() is not None:
        raise SystemExit(f"the node does not run after the faults: {faults.problems}")
    checks.recovers(found, node, items.MODEL, "the last fault")
    mixed.finish(LAST_ANSWERS)
    quiet(found, node, ledger, made, asked, "last")
    checks.recovers(found, node, items.MODEL, "the last round")
    checks.told(found, ledger)
    checks.recorded(found, node, ledger, RUNS)
    checks.flat(found, node, before)
    checks.stopped(found, node, faults.stops)
    kinds = [kind for kind in KINDS if record_disk or kind != "full disks"]
    checks.struck(found, faults, ledger, kinds, 60 * asked.minutes)
    return faults


def summary(asked, ledger, faults, record_disk, found):
    table("requests", ledger.requests)
    table(
        "items and results",
        {**ledger.counts, "longest request, in seconds": round(ledger.longest, 1)},
    )
    table("sent again, by reason", ledger.retries)
    table("failed results, by code", ledger.failed)
    if faults:
        table("faults", {**faults.counts, **faults.struck})
    if ledger.undetermined.count:
        say(f"\n`deterministic: false`: {ledger.undetermined.count}{ledger.undetermined}")
    if record_disk:
        say("\ndisk of the record: {} of {} MiB used".format(*record_disk.used()))
    else:
        say("\nthe disk of the record was not filled (`--without-disk`)")
    bad = found.failed
    say(
        f"\nseed {asked.seed}: {len(found.lines) - len(bad)} checks passed, {len(bad)} failed"
        + "".join(f"\n  {what}" for what in bad)
    )


def main():
    asked = arguments()
    if not asked.inside and not asked.without_disk:
        reason = disk.enter(sys.argv)
        sys.exit(
            f"the disk of the record cannot be filled, because no file system can be mounted here ({reason}): run as root, allow user "
            "namespaces, or pass `--without-disk`"
        )
    if asked.seed is None:
        asked.seed = random.SystemRandom().randrange(1 << 32)
    say(f"seed {asked.seed}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if soft < 4096 else soft, hard))
    # So that SIGTERM also ends what this process started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    found, ledger, faults, record_disk = checks.Checks(), Ledger(), None, None
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home)
        (folder / "models").mkdir()
        (folder / "record").mkdir()
        write_model(folder / "models" / items.MODEL)
        if asked.inside:
            # The database grows with the minutes.
            record_disk = disk.Disk(
                str(folder / "record"), asked.disk or 256 + int(16 * asked.minutes)
            )
        node = Node(
            os.path.abspath(asked.binary), folder, folder / "record", asked.workers, items.MODEL
        )
        try:
            faults = chaos(asked, node, record_disk, found, ledger)
        finally:
            if node.process and node.process.poll() is None:
                node.kill()
            if found.failed or faults is None:
                if node.log.exists():
                    kept = pathlib.Path(tempfile.gettempdir()) / f"assay-chaos-{asked.seed}.log"
                    say(f"       the node's log: {shutil.copy(node.log, kept)}")
            summary(asked, ledger, faults, record_disk, found)
            if record_disk:
                record_disk.close()
    sys.exit(1 if found.failed or faults is None else 0)


if __name__ == "__main__":
    main()
