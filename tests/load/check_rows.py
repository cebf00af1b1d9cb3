"""Checks many generated rows of mathematics, as JSON lines and as Parquet, and prints the time and
peak memory: without kept results, with an empty folder for them, again, with one row in a thousand
changed, and after a check that was killed.

    check_rows.py ASSAY ROWS [COUNT]

ASSAY is the binary, ROWS the example of `assay-check` that generates the rows. Fails if a row is
reported, because all rows are correct.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time


def check(assay, path, folder, *options):
    """Checks a file; returns the seconds, the CPU seconds and the number of graded probes."""
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [assay, "check", path, "--template", "gsm8k", *options]
    environment = os.environ | {"ASSAY_LOG_FILTER": "warn,assay=debug"}
    checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    seconds, used = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if checked.returncode != 0:
        raise SystemExit(checked.stdout[-2_000:] + checked.stderr[-2_000:])
    busy = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    graded = re.search(r"graded=(\d+)", checked.stderr)
    # The peak of all children so far. The process that generates rows uses less memory than the
    # check.
    return seconds, busy, used.ru_maxrss / 1024, int(graded[1]), checked.stdout


def show(name, measured):
    seconds, busy, peak, graded, _ = measured
    print(
        f"{name}: {seconds:.0f} s, {busy:.0f} s of CPU, peak {peak:.0f} MiB, {graded} probes",
        flush=True,
    )


def change(path, changed):
    """Copies a file, with another question in one row in a thousand."""
    with open(path) as rows, open(changed, "w") as out:
        for number, line in enumerate(rows):
            row = json.loads(line)
            if number % 1_000 == 0:
                row["question"] += " Answer with one number."
            out.write(json.dumps(row) + "\n")


def kill(assay, path, folder, cache, after):
    """Kills a check of a file after this time, with the signal that no process can handle."""
    command = [assay, "check", path, "--template", "gsm8k", "--cache", cache]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as running:
        time.sleep(after)
        running.kill()


def main() -> int:
    assay, rows = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.parquet")
        subprocess.run([rows, path, str(count)], check=True)
        size = os.path.getsize(path) / 1e6
        show(f"{count} rows of Parquet ({size:.0f} MB)", check(assay, path, folder, "--no-cache"))
        os.remove(path)
        path, cache = os.path.join(folder, "rows.jsonl"), os.path.join(folder, "cache")
        subprocess.run([rows, path, str(count)], check=True)
        size = os.path.getsize(path) / 1e6
        plain = check(assay, path, folder, "--no-cache")
        show(f"{count} rows of JSON lines ({size:.0f} MB)", plain)
        first = check(assay, path, folder, "--cache", cache)
        show("keeping results", first)
        size = sum(entry.stat().st_size for entry in os.scandir(cache)) / 1e6
        second = check(assay, path, folder, "--cache", cache)
        show(f"again ({size:.0f} MB of results)", second)
        changed = os.path.join(folder, "rows-changed.jsonl")
        change(path, changed)
        show("one row in a thousand changed", check(assay, changed, folder, "--cache", cache))
        other = os.path.join(folder, "other")
        kill(assay, path, folder, other, first[0] / 2)
        resumed = check(assay, path, folder, "--cache", other)
        show("after a check that was killed halfway", resumed)
        if not plain[4] == first[4] == second[4] == resumed[4]:
            print("the reports differ")
            return 1
        if second[3] > 0 or resumed[3] > 0.8 * first[3]:
            print("kept results were not used")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
