"""Compares two binaries: CPU time of the server and time until the last reply for the same batches
over HTTP, in turn. The CPU time includes recording until the database has all grades.

    servers.py BINARY OTHER [--rounds 5] [--batches 160]

Each batch has 1,024 items of mathematics with distinct completions, of which half are right. The
first four batches warm up and are not counted.
"""

import argparse
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WARM, CONNECTIONS = 4, 4
WORDS = """the of and we then so number of apples each day price total gives add multiply left
sold cost first second therefore because find value equals step""".split()


def batch(draw, number):
    """The body of a request with 128 groups of 8 items."""
    items = []
    for group in range(128):
        gold = draw.randint(1, 10 ** draw.randint(1, 5))
        form = draw.choice(["%d", "\\frac{%d}{1}", "%d.0", "{%d}"])
        prompt = " ".join(draw.choices(WORDS, k=40))
        for _ in range(8):
            answer = form % (gold if draw.random() < 0.5 else gold + draw.randint(1, 9))
            reasoning = " ".join(draw.choices(WORDS, k=draw.randint(40, 160)))
            items.append(
                {
                    "group": f"g{group}",
                    "prompt": prompt,
                    "completion": f"{reasoning}. So the answer is $\\boxed{{{answer}}}$.",
                    "task": {"type": "math", "answer": str(gold)},
                }
            )
    return json.dumps({"run": "load", "step": number, "items": items}).encode()


def post(port, bodies):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for body in bodies:
        connection.request("POST", "/v1/grade", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise SystemExit(f"status {reply.status}: {text[:500]}")
    connection.close()


def cpu(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(binary, bodies):
    """CPU seconds of the server, and seconds until the last reply."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite://{folder}/assay.db"
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--database", database]
        environment = os.environ | {"ASSAY_LOG_FILTER": "info"}
        with open(f"{folder}/log", "w+") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
            try:
                port = wait_for_port(server, f"{folder}/log")
                post(port, bodies[:WARM])
                time.sleep(2)
                before, started = cpu(server.pid), time.monotonic()
                threads = [
                    threading.Thread(target=post, args=(port, bodies[WARM + at :: CONNECTIONS]))
                    for at in range(CONNECTIONS)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                seconds = time.monotonic() - started
                return used_until_idle(server.pid) - before, seconds
            finally:
                server.terminate()
                server.wait()


def wait_for_port(server, log):
    for _ in range(600):
        with open(log) as file:
            found = re.search(r"127\.0\.0\.1:(\d+)", file.read())
        if found:
            return int(found[1])
        if server.poll() is not None:
            break
        time.sleep(0.1)
    with open(log) as file:
        raise SystemExit("the server did not start:\n" + file.read()[-2_000:])


def used_until_idle(pid):
    """The CPU time of the server once it uses less than a hundredth of a core."""
    used = cpu(pid)
    while True:
        time.sleep(1)
        now = cpu(pid)
        if now - used <= 0.01:
            return now
        used = now


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("other")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=160)
    options = parser.parse_args()
    draw = random.Random(5)
    bodies = [batch(draw, number) for number in range(WARM + options.batches)]
    both = {binary: [] for binary in (options.other, options.binary)}
    for _ in range(options.rounds):
        for binary, measured in both.items():
            measured.append(measure(binary, bodies))
    for at, name in enumerate(["CPU seconds of the server", "seconds until the last reply"]):
        medians = [statistics.median(one[at] for one in measured) for measured in both.values()]
        sys.stdout.write(
            f"{name}: {medians[1]:.2f}, other {medians[0]:.2f}, ratio {medians[1] / medians[0]:.3f}\n"
        )


if __name__ == "__main__":
    main()
