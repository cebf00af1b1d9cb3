#!/usr/bin/env python3
"""Measures the time from starting `assay serve` to its first reply, and the idle memory (PSS).

usage: start.py PATH/TO/assay [STARTS]

Starts the service in an empty folder, and then again on the record that the first start created.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BODY = json.dumps(
    {"items": [{"completion": r"\boxed{2/6}", "task": {"type": "math", "answer": "1/3"}}]}
).encode()


def start(binary, folder):
    """Starts the service once: milliseconds until the first reply, and kilobytes of PSS
    afterwards.
    """
    began = time.perf_counter()
    server = subprocess.Popen(
        [binary, "serve", "--listen", "127.0.0.1:0", "--database", "sqlite://start.db"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        address = None
        for line in server.stderr:
            found = re.search(r"127\.0\.0\.1:\d+", line)
            if found:
                address = found.group()
                break
        request = urllib.request.Request(
            f"http://{address}/v1/grade", BODY, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            result = json.load(reply)["results"][0]
        took = (time.perf_counter() - began) * 1e3
        assert result["verdict"] == "correct" and result["recorded"], result
        with open(f"/proc/{server.pid}/smaps_rollup", encoding="ascii") as rollup:
            pss = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        return took, pss
    finally:
        server.terminate()
        server.wait()


def main():
    binary, starts = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    first, again, memory = [], [], []
    for _ in range(starts):
        with tempfile.TemporaryDirectory() as folder:
            for times in (first, again):
                took, pss = start(binary, folder)
                times.append(took)
                memory.append(pss)
    print(
        f"exec to first reply, new record:      median {statistics.median(first):.0f} ms, max {max(first):.0f} ms"
    )
    print(
        f"exec to first reply, existing record: median {statistics.median(again):.0f} ms, max {max(again):.0f} ms"
    )
    print(
        f"idle memory (PSS): median {statistics.median(memory) / 1024:.1f} MiB, max {max(memory) / 1024:.1f} MiB"
    )


main()
