"""Measures the cost of tracing: CPU time of the service for the same batches without log lines,
with them (the default), and with all spans exported to a collector.

usage: traces.py PATH/TO/assay [--rounds N]

The three services run on one machine and grade alternately. Each ratio is the median over rounds.
"""

import argparse
import http.client
import http.server
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading

BATCHES, BATCH_ITEMS = 40, 256
TICKS = os.sysconf("SC_CLK_TCK")


class Collector(http.server.BaseHTTPRequestHandler):
    """Accepts spans and counts the exports."""

    protocol_version = "HTTP/1.1"
    exports = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Collector.exports += 1
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Writes nothing."""


class Service:
    """A service with its own record, which caches no outcomes."""

    def __init__(self, binary, folder, variables):
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--database", f"sqlite://{folder}/t.db"],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"NO_COLOR": "1", "ASSAY_ENGINE_OUTCOME_BYTES": "0"} | variables,
        )
        port = next(
            (m[1] for line in self.process.stderr if (m := re.search(r"127\.0\.0\.1:(\d+)", line))),
            None,
        )
        if port is None:
            sys.exit(f"the service does not start with {variables}")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port))

    def cpu(self):
        """CPU seconds since the start."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def grade(self, bodies):
        """CPU seconds for the batches."""
        before = self.cpu()
        for body in bodies:
            self.connection.request(
                "POST", "/v1/grade", body, {"content-type": "application/json"}
            )
            reply = self.connection.getresponse()
            recorded = reply.read().count(b'"recorded":true')
            if reply.status != 200 or recorded != BATCH_ITEMS:
                sys.exit(f"status {reply.status}, {recorded} of {BATCH_ITEMS} items recorded")
        return self.cpu() - before

    def stop(self):
        self.process.terminate()
        self.process.wait()


def item(number):
    reasoning = f"Rollout {number}. " + "We add the parts and simplify, checking each step. " * 20
    answer = f"\\frac{{{number % 97}}}{{{number % 89 + 2}}} + x^{{{number % 7}}}"
    return {
        "group": f"g{number // 8}",
        "completion": f"{reasoning}\\boxed{{{answer}}}",
        "task": {"type": "math", "answer": f"x^{{{number % 5}}} + {number % 83}/{number % 71 + 2}"},
    }


def batches():
    numbers = range(BATCHES * BATCH_ITEMS)
    for step in range(BATCHES):
        items = [item(n) for n in numbers[step * BATCH_ITEMS : (step + 1) * BATCH_ITEMS]]
        yield json.dumps({"run": "traces", "step": step, "items": items}).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    settings = {
        "no log lines": {"ASSAY_LOG_FILTER": "off,assay::commands::serve=info"},
        "log lines": {"ASSAY_LOG_FILTER": "info"},
        "spans exported": {"ASSAY_LOG_TRACES": f"http://127.0.0.1:{collector.server_port}"},
    }
    bodies = list(batches())
    services, spent = {}, {name: [] for name in settings}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number, (name, variables) in enumerate(settings.items()):
                own = os.path.join(folder, str(number))
                os.mkdir(own)
                services[name] = Service(os.path.abspath(options.binary), own, variables)
                # The first batches fill caches and are not counted.
                services[name].grade(bodies)
            for _ in range(options.rounds):
                for name, service in services.items():
                    spent[name].append(service.grade(bodies))
        finally:
            for service in services.values():
                service.stop()
    if Collector.exports == 0:
        sys.exit("the collector received nothing")
    base = spent["no log lines"]
    for name, seconds in spent.items():
        ratio = statistics.median(mine / other for mine, other in zip(seconds, base))
        each = 1e6 * statistics.median(seconds) / (BATCHES * BATCH_ITEMS)
        print(f"{name:20}{each:8.2f} us of CPU an item{ratio:8.3f} x")


main()
