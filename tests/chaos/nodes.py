"""Runs several nodes on one PostgreSQL server, under load, and checks that the record has exactly
what was acknowledged.

First, requests are posted to two nodes at the same moment under one key: one node must grade each,
and both replies must be equal. Then nodes are killed with `kill -9` and restarted at random, and
the server is stopped twice, while clients repeat each batch under its key, on any node, until it is
acknowledged. Last, the nodes must enforce the quota of a key together. Needs PostgreSQL, which
`make postgres` installs.
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

NOBODY = 65534
CONFIGURATION = "[server]\nshutdown_seconds = 2\n[sandbox_workers]\ncount = 1\n"
START_SECONDS = 60
ITEMS = 16


def program(name):
    folders = pathlib.Path("/usr/lib/postgresql").glob("*/bin")
    found = [folder / name for folder in folders if (folder / name).exists()]
    newest = sorted(found, key=lambda path: int(path.parts[4]))
    return str(newest[-1]) if newest else shutil.which(name) or sys.exit(f"`{name}` is missing")


class Server:
    """A PostgreSQL server."""

    def __init__(self, folder):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.user = {"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {}
        if self.user:
            os.chown(folder, NOBODY, NOBODY)
        options = ["-D", self.folder / "data", "-U", "assay", "-E", "UTF8", "--locale=C"]
        self.run([program("initdb"), *options, "--auth=trust"])
        self.start()
        self.query("create database assay", "postgres")

    @property
    def url(self):
        return f"postgres://assay@127.0.0.1:{self.port}/assay"

    def run(self, command):
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self.user)

    def control(self, *arguments):
        log = self.folder / "log"
        self.run([program("pg_ctl"), "-D", self.folder / "data", "-l", log, "-w", *arguments])

    def start(self):
        options = f"-p {self.port} -k {self.folder} -h 127.0.0.1"
        self.control("start", "-o", options)

    def stop(self):
        self.control("stop", "-m", "fast")

    def query(self, sql, database="assay"):
        command = [program("psql"), "-XAtq", "-h", "127.0.0.1", "-p", str(self.port)]
        done = subprocess.run(
            [*command, "-U", "assay", "-d", database, "-c", sql],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Node:
    """A node with its own folder and spool, over all its processes."""

    def __init__(self, binary, folder, url):
        self.binary, self.folder, self.url = binary, pathlib.Path(folder), url
        self.folder.mkdir()
        (self.folder / "assay.toml").write_text(CONFIGURATION)
        self.log = self.folder / "log"
        self.port = self.process = None
        self.lock = threading.Lock()

    def start(self):
        """Starts a process, again while the server cannot be reached."""
        environment = {key: value for key, value in os.environ.items() if key[:6] != "ASSAY_"}
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            begin = self.log.stat().st_size if self.log.exists() else 0
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    [self.binary, "serve", "--listen", "127.0.0.1:0", "--database", self.url],
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**environment, "NO_COLOR": "1"},
                )
            while self.process.poll() is None and time.monotonic() < until:
                said = self.log.read_bytes()[begin:].decode(errors="replace")
                found = re.search(r"listening.*?127\.0\.0\.1:(\d+)", said)
                if found:
                    self.port = int(found.group(1))
                    return
                time.sleep(0.05)
            time.sleep(0.5)
        sys.exit(f"a node does not start: {self.log.read_text(errors='replace')[-800:]}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, method, path, body=None, headers={}, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            headers = {"content-type": "application/json", **headers}
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def pending(self):
        """Whether some of what it recorded is not in the database, or it is not ready."""
        status, body = self.ask("GET", "/readyz")
        return status != 200 or json.loads(body)["record"]["pending"] > 0


def batch(rng, run):
    """A batch and its verdicts."""
    items, verdicts = [], []
    for _ in range(ITEMS):
        a, b, wrong = rng.randrange(1000), rng.randrange(1000), rng.randrange(2)
        answer = f"The answer is \\boxed{{{a + b + wrong}}}."
        items.append({"task": {"type": "math", "answer": str(a + b)}, "completion": answer})
        verdicts.append("wrong_answer" if wrong else "correct")
    return json.dumps({"run": run, "step": rng.randrange(100), "items": items}), verdicts


def same_moment(nodes, rng, requests):
    """Posts each request to two nodes at the same moment; returns the problems."""
    problems = []
    for number in range(requests):
        body, _ = batch(rng, "same")
        barrier, replies = threading.Barrier(2), [None, None]

        def post(at):
            barrier.wait()
            headers = {"idempotency-key": f"same-{number}"}
            try:
                replies[at] = nodes[at].ask("POST", "/v1/grade", body, headers)
            except (OSError, http.client.HTTPException) as error:
                problems.append(f"request {number}: {error!r}")

        threads = [threading.Thread(target=post, args=(at,)) for at in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if None not in replies and (replies[0] != replies[1] or replies[0][0] != 200):
            problems.append(f"request {number}: {[status for status, _ in replies]} or other bytes")
    return problems


class Clients:
    """Clients that repeat each batch until it is acknowledged."""

    def __init__(self, nodes, seed, count):
        self.nodes, self.ended = nodes, threading.Event()
        self.acknowledged, self.problems = {}, []
        self.repeated = collections.Counter()
        self.threads = [
            threading.Thread(target=self.work, args=(random.Random(seed * 1000 + at), at))
            for at in range(count)
        ]
        for thread in self.threads:
            thread.start()

    def work(self, rng, at):
        number = 0
        while not self.ended.is_set():
            number += 1
            body, verdicts = batch(rng, f"run-{at}")
            self.acknowledge(rng, body, verdicts, f"{at}-{number}")

    def acknowledge(self, rng, body, verdicts, key):
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                node = rng.choice(self.nodes)
                headers = {"idempotency-key": key}
                status, reply = node.ask("POST", "/v1/grade", body, headers)
            except (OSError, http.client.HTTPException):
                self.repeated["no reply"] += 1
                time.sleep(0.05)
                continue
            if status != 200:
                self.repeated[status] += 1
                if status < 500 and status != 429:
                    self.problems.append(f"{key}: status {status}: {reply[:200]}")
                    return
                time.sleep(0.1)
                continue
            reply = json.loads(reply)
            if not all(result["recorded"] for result in reply["results"]):
                self.repeated["not recorded"] += 1
                time.sleep(0.1)
                continue
            given = [result["verdict"] for result in reply["results"]]
            if given != verdicts:
                self.problems.append(f"{key}: {given} instead of {verdicts}")
            self.acknowledged[key] = (reply["batch"], len(verdicts))
            return
        self.problems.append(f"{key}: not acknowledged for five minutes")

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def inject(nodes, server, rng, seconds, kills):
    """Kills nodes, and stops the server twice; returns the number of kills."""
    begin, done, stops = time.monotonic(), 0, 0
    while time.monotonic() - begin < seconds or done < kills:
        time.sleep(rng.uniform(0.5, 3))
        elapsed = time.monotonic() - begin
        if stops < 2 and elapsed > (stops + 1) * seconds / 3:
            server.stop()
            time.sleep(min(60, seconds / 6))
            server.start()
            stops += 1
            continue
        node = rng.choice(nodes)
        node.kill()
        node.start()
        done += 1
    return done


def stored(server):
    """The number of grades of each batch in the database, by the id as it is stored."""
    rows = server.query(
        "select encode(b.id, 'hex'), count(*) from batches b "
        "join grades g on g.key >> 24 = b.no group by b.id"
    )
    return {row.split("|")[0]: int(row.split("|")[1]) for row in rows.splitlines()}


def shared_quota(nodes, server, rng, seconds=10):
    """Uses up the quota of a key on one node, then posts to the others; returns the problems."""
    limit = 20 * ITEMS
    created = subprocess.run(
        [nodes[0].binary, "keys", "create", "limited", "--role", "trainer"]
        + ["--items-per-minute", str(limit), "--database", server.url],
        cwd=nodes[0].folder,
        check=True,
        capture_output=True,
        text=True,
    )
    key = re.search(r"assay_\S+", created.stdout).group(0)
    # Nodes look for new keys, and exchange what they admitted, once a second.
    time.sleep(2.5)

    def admitted(node):
        body, _ = batch(rng, "limited")
        headers = {"authorization": f"Bearer {key}"}
        status, reply = node.ask("POST", "/v1/grade", body, headers)
        if status == 429 and b"quota_exceeded" in reply:
            return 0
        return ITEMS if status == 200 else sys.exit(f"status {status}: {reply[:200]}")

    first = sum(admitted(nodes[0]) for _ in range(limit // ITEMS))
    begin = time.monotonic()
    time.sleep(2)
    later = 0
    while time.monotonic() < begin + seconds:
        later += sum(admitted(node) for node in nodes[1:])
        time.sleep(0.1)
    # What becomes available again, and what each node may admit until it knows of the others.
    most = limit / 60 * (time.monotonic() - begin) + ITEMS * len(nodes)
    print(f"quota of {limit} items a minute: {first} on one node, then {later} on others", end="")
    print(f" in {seconds} s, of at most {most:.0f}")
    if first != limit or not 0 < later <= most:
        return ["the nodes do not enforce a quota together"]
    return []


DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def hexadecimal(ulid):
    number = 0
    for digit in ulid:
        number = number * 32 + DIGITS.index(digit)
    return f"{number:032x}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--kills", type=int, default=50, help="kill at least so often")
    parser.add_argument("--same", type=int, default=1000, help="requests posted to two nodes")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 16))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    folder = tempfile.mkdtemp(prefix="assay-nodes-")
    os.chmod(folder, 0o755)
    home = pathlib.Path(folder) / "server"
    home.mkdir()
    server = Server(home)
    binary = str(pathlib.Path(arguments.binary).absolute())
    nodes = [
        Node(binary, pathlib.Path(folder) / f"node-{number}", server.url)
        for number in range(arguments.nodes)
    ]
    problems = ["interrupted"]
    try:
        for node in nodes:
            node.start()
        begin = time.monotonic()
        problems = same_moment(nodes, rng, arguments.same)
        seconds = time.monotonic() - begin
        while any(node.pending() for node in nodes):
            time.sleep(0.1)
        batches = len(stored(server))
        print(f"{arguments.same} requests to two nodes at once: {batches} batches, {seconds:.0f} s")
        if batches != arguments.same:
            problems.append(f"{batches} batches of {arguments.same} requests are stored")

        before = set(stored(server))
        clients = Clients(nodes, arguments.seed, arguments.clients)
        kills = inject(nodes, server, rng, arguments.minutes * 60, arguments.kills)
        clients.end()
        until = time.monotonic() + 120
        while any(node.pending() for node in nodes) and time.monotonic() < until:
            time.sleep(0.2)
        found = stored(server)
        problems += clients.problems
        for key, (ulid, items) in clients.acknowledged.items():
            grades = found.pop(hexadecimal(ulid), 0)
            if grades != items:
                problems.append(f"{key}: {grades} of {items} acknowledged grades are stored")
        others = [ulid for ulid in found if ulid not in before]
        print(
            f"{len(clients.acknowledged)} batches acknowledged, {kills} kills, repeated "
            f"{dict(clients.repeated)}, {len(others)} other batches stored"
        )
        if others:
            problems.append(f"{len(others)} batches are stored that were not acknowledged")
        problems += shared_quota(nodes, server, rng)
        verify = subprocess.run(
            [binary, "verify", "--database", server.url],
            cwd=nodes[0].folder,
            capture_output=True,
            text=True,
        )
        print((verify.stdout + verify.stderr).strip())
        if verify.returncode:
            problems.append("`assay verify` reports damage")
    finally:
        for node in nodes:
            if node.process and node.process.poll() is None:
                node.kill()
        server.stop()
        if not problems:
            shutil.rmtree(folder, ignore_errors=True)
    for problem in problems[:20]:
        print(f"PROBLEM {problem}")
    if problems:
        print(f"logs are in `{folder}`")
    print(f"seed {arguments.seed}: {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
