#!/usr/bin/env python3
"""Fills the disk of a record and prunes it: the prune fails, the node continues to grade, and the
same prune completes when there is space again.

usage: prune.py PATH/TO/assay [--batches N]

Requires root or user namespaces to mount the disk. Exits with 1 if a check fails.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True

import disk  # noqa: E402, a module beside this one
from checks import Checks  # noqa: E402, likewise

ITEMS = 64
MEBIBYTES = 96
FREE_BYTES = 2 << 20
SECONDS = 60


class Node:
    """A node whose log is in a file outside of the disk."""

    def __init__(self, binary, database, log):
        self.log = log
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [
                    binary,
                    "serve",
                    "--listen",
                    "127.0.0.1:0",
                    "--print-url",
                    "--database",
                    database,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=out,
                text=True,
                env={**os.environ, "NO_COLOR": "1"},
            )
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit(f"the node did not start: {log.read_text()[-2000:]}")

    def request(self, path, body=None):
        """Status and parsed body of a reply."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, content, headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def grade(self, number, run):
        """Grades a batch; returns the status and whether all results were recorded."""
        items = [
            {
                "id": f"{number}-{position}",
                "prompt": f"prompt {number // 4}",
                "completion": f"the answer to {number}-{position} is {position % 7}",
                "task": {"type": "text", "answer": f"{position % 5}"},
            }
            for position in range(ITEMS)
        ]
        body = {"items": items, "run": run, "step": number}
        status, reply = self.request("/v1/grade", body)
        results = reply.get("results", [])
        if len(results) != ITEMS or any(one["outcome"] != "graded" for one in results):
            return status, None
        return status, all(one["recorded"] for one in results)

    def storage(self):
        return self.request("/v1/storage")[1]

    def wait(self, passes):
        """Waits until `/v1/storage` passes; returns it, or None."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            report = self.storage()
            if passes(report):
                return report
            time.sleep(0.05)
        return None

    def prune(self):
        """Starts a prune of all runs except one, and returns how it ended."""
        status, started = self.request("/v1/storage/prune", {"keep_runs": ["kept"]})
        if status != 200:
            raise SystemExit(f"a prune was rejected with status {status}: {started}")
        number = started["prune"]["number"]
        ended = self.wait(
            lambda report: (
                (report["prune"] or {}).get("number", 0) >= number
                and report["prune"]["state"] != "running"
            )
        )
        if ended is None:
            raise SystemExit(f"the prune did not end within {SECONDS} s")
        return ended["prune"]

    def stop(self):
        self.process.terminate()
        self.process.wait(SECONDS)


def check(found, binary, record, record_disk, batches):
    """All checks."""
    database = f"sqlite://{record / 'assay.db'}"
    node = Node(binary, database, record.parent / "log")
    try:
        for number in range(batches):
            node.grade(number, "kept" if number % 10 == 0 else f"run-{number % 3}")
        kept, deleted = -(-batches // 10) * ITEMS, batches * ITEMS - (-(-batches // 10) * ITEMS)
        applied = node.wait(lambda report: report["grades"] == batches * ITEMS)
        found.check(applied, f"{batches * ITEMS} grades are in the record")

        record_disk.fill()
        # Space for some steps of the prune.
        record_disk.free(FREE_BYTES)
        failed = node.prune()
        found.check(
            failed["state"] == "failed" and "full" in (failed["error"] or ""),
            f"on a full disk the prune is `{failed['state']}`: {failed['error']}",
        )
        logged = node.log.read_text()
        found.check("cannot delete from the record" in logged, "the log has a warning")
        record_disk.fill()
        status, recorded = node.grade(batches, "kept")
        found.check(
            status == 200 and recorded is False,
            f"a batch is graded with status {status} and not recorded",
        )
        left = node.storage()["grades"]
        found.check(
            kept < left < batches * ITEMS, f"{left} grades are left, because some were deleted"
        )

        record_disk.free()
        done = node.prune()
        found.check(
            done["state"] == "done" and left - kept == done["deleted_grades"],
            f"with space, the same prune is `{done['state']}`: {done['deleted_grades']} of "
            f"{deleted} grades deleted",
        )
        status, recorded = node.grade(batches + 1, "kept")
        found.check(status == 200 and recorded, "batches are recorded again")
        report = node.wait(lambda report: report["grades"] == kept + ITEMS)
        found.check(report, f"{kept} old grades and {ITEMS} new ones are left")
    finally:
        node.stop()
    verified = subprocess.run(
        [binary, "verify", "--database", database], capture_output=True, text=True, check=False
    )
    found.check(
        verified.returncode == 0, "the record is sound", f" {verified.stdout}{verified.stderr}"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument(disk.INSIDE, action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.inside:
        reason = disk.enter(sys.argv)
        sys.exit(
            f"no file system can be mounted here ({reason}): run as root, or allow user namespaces"
        )
    found = Checks()
    with tempfile.TemporaryDirectory() as home:
        record = pathlib.Path(home) / "record"
        record.mkdir()
        record_disk = disk.Disk(str(record), MEBIBYTES)
        try:
            check(found, os.path.abspath(asked.binary), record, record_disk, asked.batches)
        finally:
            record_disk.close()
    sys.exit(1 if found.failed else 0)


if __name__ == "__main__":
    main()
