"""Checks many generated rows of mathematics, as JSON lines and as Parquet, and prints the time and
peak memory.

    check_rows.py ASSAY ROWS [COUNT]

ASSAY is the binary, ROWS the example of `assay-check` that generates the rows. Fails if a row is
reported, because all rows are correct.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time


def main() -> int:
    assay, rows = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rows.jsonl", "rows.parquet"):
            path = os.path.join(folder, name)
            subprocess.run([rows, path, str(count)], check=True)
            size = os.path.getsize(path) / 1e6
            started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            checked = subprocess.Popen(
                [assay, "check", path, "--template", "gsm8k"], cwd=folder, stdout=subprocess.PIPE
            )
            output, _ = checked.communicate()
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            if checked.returncode != 0:
                sys.stdout.buffer.write(output)
                return 1
            seconds = time.monotonic() - started
            busy = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
            # The peak of all children so far. The process that generates rows uses less memory
            # than the check.
            peak = used.ru_maxrss / 1024
            print(
                f"{name} ({size:.0f} MB): {count} rows in {seconds:.0f} s, {busy:.0f} s of CPU, peak {peak:.0f} MiB",
                flush=True,
            )
            os.remove(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
