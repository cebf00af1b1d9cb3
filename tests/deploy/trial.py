#!/usr/bin/env python3
"""Starts the processes of the manifests without containers, and watches clients while nodes end.

usage: start.py trial.py PATH/TO/assay [--seconds N]

PostgreSQL, the two nodes of `deploy/compose` and HAProxy run with the arguments, settings and files
of the manifests, as the user of the container, without privileges and with its seccomp profile.
Only addresses and folders are others. While clients post batches through HAProxy, nodes are killed,
then drained by SIGTERM, and PostgreSQL is stopped. Then a node runs with the variables of
`deploy/kubernetes`, and one under the system call filter of `deploy/systemd`.

Fails if an acknowledged grade is missing from the record or there twice, if a verdict is wrong, if
a request fails otherwise than with 429 or 503 (502 while a node is killed), or if a node does not
end in time. Needs root, PostgreSQL and HAProxy.
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
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEPLOY = ROOT / "deploy"
sys.path.insert(0, str(ROOT / "tests/chaos"))

import check  # noqa: E402, a module beside this one
import confined  # noqa: E402
import names  # noqa: E402
import nodes as chaos  # noqa: E402, in tests/chaos
import schemas  # noqa: E402

PROFILE = DEPLOY / "seccomp/assay.json"
IMAGES = (
    pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    / "assay/images"
)
# A request may wait for the hold of a node that was killed, which ends after 30 s.
REQUEST_SECONDS = 90
PROGRAM = "```python\nprint(sum(map(int, input().split())))\n```"
# Takes a second or more.
SLOW = "```python\nfor n in range(4_000_000): pass\nprint(3)\n```"


def program_item(completion):
    tests = [{"stdin": "1 2", "stdout": "3"}]
    task = {"type": "code", "language": "python", "tests": tests, "limits": {"seconds": 60}}
    return {"completion": completion, "task": task}


class Process:
    """A node, restarted in the same folder."""

    def __init__(self, binary, folder, arguments, variables, profile=PROFILE):
        self.folder, self.profile = pathlib.Path(folder), profile
        self.folder.mkdir()
        self.log = self.folder / "log"
        os.chown(self.folder, confined.USER, confined.USER)
        self.port = chaos.free_port()
        self.command = [binary, *arguments]
        self.variables = {
            **variables,
            "ASSAY_SERVER_LISTEN": f"127.0.0.1:{self.port}",
            "ASSAY_STORE_SPOOL": str(self.folder / "spool"),
        }
        self.process = None

    def spawn(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, HERE / "confined.py", self.profile, *self.command],
                cwd=self.folder,
                env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **self.variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def start(self):
        self.spawn()
        wait_until_ready(self)

    def said(self):
        return self.log.read_text(errors="replace")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def drain(self):
        """Sends SIGTERM; returns the seconds until the process has ended, and its status."""
        begin = time.monotonic()
        self.process.terminate()
        return time.monotonic() - begin if self.process.wait() == 0 else None


class Balancer:
    """HAProxy with the file of the manifests."""

    def __init__(self, folder, nodes):
        self.port = chaos.free_port()
        text = (DEPLOY / "compose/haproxy.cfg").read_text()
        # There is no DNS server of Docker.
        text = re.sub(r"\nresolvers docker\n(    .*\n)+", "\n", text)
        text = text.replace("resolvers docker ", "").replace("init-addr last,libc,none", "")
        text = text.replace("bind :8080", f"bind 127.0.0.1:{self.port}")
        for name, node in nodes.items():
            text = text.replace(f"{name}:8080", f"127.0.0.1:{node.port}")
        path = pathlib.Path(folder) / "haproxy.cfg"
        path.write_text(text)
        self.log = pathlib.Path(folder) / "haproxy.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["haproxy", "-W", "-f", path], stdout=log, stderr=subprocess.STDOUT
            )

    def stop(self):
        self.process.terminate()
        self.process.wait()


def wait_until_ready(started, seconds=60):
    """Exits if a node or HAProxy is not ready in time."""
    until = time.monotonic() + seconds
    while names.status(f"http://127.0.0.1:{started.port}/readyz") != 200:
        if started.process.poll() is not None or time.monotonic() > until:
            sys.exit(f"not ready: {started.log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def wait_until_applied(nodes, seconds=60):
    """Waits until the record has what the nodes acknowledged."""
    until = time.monotonic() + seconds
    for node in nodes:
        while time.monotonic() < until:
            with urllib.request.urlopen(f"http://127.0.0.1:{node.port}/readyz") as reply:
                if json.load(reply)["record"]["pending"] == 0:
                    break
            time.sleep(0.1)


def post(port, body, key, headers=()):
    """The status and the reply of a request; a status of 0 if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
    try:
        given = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        connection.request("POST", "/v1/grade", body, {**given, **dict(headers)})
        reply = connection.getresponse()
        return reply.status, reply.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


class Clients:
    """Clients that repeat each batch under its key until it is acknowledged."""

    def __init__(self, port, key, count=4):
        self.port, self.key = port, key
        self.phase, self.ended = "quiet", threading.Event()
        self.statuses = collections.defaultdict(collections.Counter)
        self.slowest = collections.Counter()
        self.acknowledged, self.problems = {}, []
        self.threads = [
            threading.Thread(target=self.work, args=(number,)) for number in range(count)
        ]
        for thread in self.threads:
            thread.start()

    def work(self, client):
        rng, number = random.Random(client), 0
        while not self.ended.is_set():
            number += 1
            body, verdicts = chaos.batch(rng, f"run-{client}")
            begin, phase = time.monotonic(), self.phase
            while not self.send(body, verdicts, f"{client}-{number}", phase):
                time.sleep(0.1)
            seconds = time.monotonic() - begin
            self.slowest[phase] = max(self.slowest[phase], round(seconds, 1))
            # Slowly enough for a database on the same processors.
            time.sleep(0.2)

    def send(self, body, verdicts, key, phase):
        """Whether no further attempt is needed."""
        status, reply = post(self.port, body, self.key, {"idempotency-key": key})
        self.statuses[phase][status] += 1
        if status != 200:
            # A reply that a killed node had begun cannot be repeated by HAProxy.
            if status not in (429, 503) and (status, phase[:4]) != (502, "kill"):
                self.problems.append(f"{phase}: status {status}: {reply[:200]}")
            return False
        reply = json.loads(reply)
        if not all(result["recorded"] for result in reply["results"]):
            return False
        if [result["verdict"] for result in reply["results"]] != verdicts:
            self.problems.append(f"{phase}: wrong verdicts")
        self.acknowledged[reply["batch"]] = len(verdicts)
        return True

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def stream(port, key):
    """The seconds until the first and the last line of a stream with a slow item."""
    items = [json.loads(chaos.batch(random.Random(1), "stream")[0])["items"][0]]
    body = json.dumps({"run": "stream", "items": [*items, program_item(SLOW)]})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
    headers = {"content-type": "application/json", "accept": "application/x-ndjson"}
    begin = time.monotonic()
    connection.request("POST", "/v1/grade", body, {**headers, "authorization": f"Bearer {key}"})
    times = []
    for line in connection.getresponse():
        if json.loads(line).get("type") not in ("start", "batch"):
            times.append(time.monotonic() - begin)
    return times[0], times[-1]


def create_key(binary, url, *arguments):
    environment = {"ASSAY_STORE_DATABASE": url}
    return json.loads(binary.run(["keys", "create", *arguments, "--json"], environment))["key"]


def missing(acknowledged, server):
    """What the record has otherwise than clients were answered."""
    found = chaos.stored(server)
    wrong = {
        batch: found.get(chaos.hexadecimal(batch), 0)
        for batch, items in acknowledged.items()
        if found.get(chaos.hexadecimal(batch), 0) != items
    }
    return [f"batch {batch} has {grades} grades in the record" for batch, grades in wrong.items()]


def compose_trial(binary, folder, server, images, seconds):
    """Two nodes behind HAProxy."""
    problems = []
    composed = schemas.composition((DEPLOY / "compose/compose.yaml").read_text())["services"]
    grace = schemas.seconds(composed["node-1"]["stop_grace_period"])
    toml = folder / "assay.toml"
    toml.write_text(f'[store]\ndatabase = "{server.url}"\n')
    toml.chmod(0o644)

    def arguments(service):
        command = composed[service]["command"]
        return [str(toml) if one.startswith("/run/") else one for one in command]

    binary.run(arguments("migrate"))
    create_key(binary, server.url, "admin", "--role", "admin")
    trainer = create_key(binary, server.url, "trainer", "--role", "operator")
    nodes = {}
    for name in ("node-1", "node-2"):
        variables = {**composed[name]["environment"], "ASSAY_SANDBOX_WORKERS_IMAGES": images}
        nodes[name] = Process(binary.path, folder / name, arguments(name), variables)
        nodes[name].spawn()
    balancer, clients = None, None
    try:
        for node in nodes.values():
            wait_until_ready(node)
        balancer = Balancer(folder, nodes)
        wait_until_ready(balancer)
        first, last = stream(balancer.port, trainer)
        print(f"stream through HAProxy: first line after {first:.2f} s, last after {last:.2f} s")
        if first > last / 2:
            problems.append("HAProxy holds the lines of a stream back")
        clients = Clients(balancer.port, trainer)
        time.sleep(seconds)
        for name, node in nodes.items():
            clients.phase = f"kill -9 of {name}"
            node.kill()
            time.sleep(seconds)
            node.start()
            time.sleep(2)
        for name, node in nodes.items():
            clients.phase = f"SIGTERM of {name}"
            took = node.drain()
            if took is None or took > grace:
                problems.append(f"{name} did not end in {grace} s")
            else:
                left = "database did not accept all" in node.said()
                rest = ", with entries left in its spool" if left else ""
                print(f"{name} ended {took:.1f} s after SIGTERM{rest}")
            time.sleep(seconds)
            node.start()
            time.sleep(2)
        clients.phase = "PostgreSQL stopped"
        server.stop()
        time.sleep(max(seconds, 8))
        status, reply = post(balancer.port, chaos.batch(random.Random(9), "outage")[0], trainer)
        print(f"without PostgreSQL, a request without a key got {status}")
        if status == 200:
            reply = json.loads(reply)
            clients.acknowledged[reply["batch"]] = len(reply["results"])
        else:
            problems.append(f"status {status} without PostgreSQL: {reply[:200]}")
        server.start()
        time.sleep(seconds)
        clients.end()
        wait_until_applied(nodes.values())
    finally:
        if clients is not None:
            clients.end()
        if balancer is not None:
            balancer.stop()
        for node in nodes.values():
            if node.process.poll() is None:
                node.drain()
    for phase, statuses in clients.statuses.items():
        slowest = clients.slowest[phase]
        print(f"{phase}: replies by status {dict(statuses)}, slowest batch {slowest} s")
    problems += clients.problems + missing(clients.acknowledged, server)
    print(f"{len(clients.acknowledged)} batches acknowledged, {len(problems)} problems")
    return problems, trainer


def kubernetes_trial(binary, folder, server, images, key):
    """A node with the variables of the base drains while a batch runs."""
    problems = []
    documents = schemas.documents((DEPLOY / "kubernetes/base/assay.yaml").read_text())
    (pod,) = check.of_kind(documents, "StatefulSet")
    (settings,) = check.of_kind(documents, "ConfigMap")
    spec = pod["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    toml = folder / "kubernetes.toml"
    toml.write_text(settings["data"]["assay.toml"])
    toml.chmod(0o644)
    arguments = [str(toml) if one.startswith("/etc/") else one for one in container["args"]]
    variables = {
        **check.variables_of(container),
        "ASSAY_STORE_DATABASE": server.url,
        "ASSAY_SANDBOX_WORKERS_IMAGES": images,
    }
    node = Process(binary.path, folder / "kubernetes", arguments, variables)
    node.start()
    replies = []
    body = json.dumps({"run": "drain", "items": [program_item(SLOW)] * 4})
    running = threading.Thread(target=lambda: replies.append(post(node.port, body, key)))
    running.start()
    time.sleep(1)
    took = node.drain()
    running.join()
    status, reply = replies[0]
    results = json.loads(reply)["results"] if status == 200 else []
    graded = [result["verdict"] for result in results]
    what = f"a batch in progress got {status} and {graded}"
    print(f"Kubernetes: ended {took or -1:.1f} s after SIGTERM; {what}")
    if took is None or took > spec["terminationGracePeriodSeconds"] or graded != ["accepted"] * 4:
        problems.append("the batch in progress was not completed")
    return problems


def system_calls(lines):
    """The system calls of `SystemCallFilter` lines of a unit, in their order."""
    allowed = set()

    def expand(name):
        if not name.startswith("@"):
            return {name}
        listed = subprocess.run(
            ["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True
        ).stdout.splitlines()[1:]
        words = (line.split("#")[0].strip() for line in listed)
        return set().union(*(expand(word) for word in words if word))

    # systemd always allows these.
    allowed |= expand("@default")
    for line in lines:
        found = set().union(*(expand(name) for name in line.lstrip("~").split()))
        allowed = allowed - found if line.startswith("~") else allowed | found
    # systemd may know calls that this version of libseccomp does not.
    return {name for name in allowed if confined.number_of(name) != -1}


def systemd_trial(binary, folder, server, images, key):
    """A node under the system call filter of the unit grades a program."""
    unit = (DEPLOY / "systemd/assay@.service").read_text()
    names_of_calls = system_calls(re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE))
    own = json.loads(PROFILE.read_text())
    # The rules for namespaces, as RestrictNamespaces has them.
    kept = [group for group in own["syscalls"][1:]]
    plain = names_of_calls - {name for group in kept for name in group["names"]}
    allowed = {"action": "SCMP_ACT_ALLOW", "names": sorted(plain)}
    path = folder / "systemd.json"
    path.write_text(json.dumps({**own, "syscalls": [allowed, *kept]}))
    variables = check.environment_file((DEPLOY / "systemd/assay.env").read_text())
    variables.update(ASSAY_STORE_DATABASE=server.url, ASSAY_SANDBOX_WORKERS_IMAGES=images)
    node = Process(binary.path, folder / "systemd", ["serve", "--strict"], variables, path)
    node.start()
    status, reply = post(node.port, json.dumps({"items": [program_item(PROGRAM)]}), key)
    verdict = json.loads(reply)["results"][0]["verdict"] if status == 200 else status
    took = node.drain()
    print(f"systemd: {len(plain)} system calls allowed; a program is `{verdict}`")
    return [] if verdict == "accepted" and took is not None else [f"systemd: {verdict}, {took}"]


def without_namespaces(binary, folder, server, images):
    """A node does not start with a profile that forbids what it requires."""
    profile = json.loads(PROFILE.read_text())
    profile["syscalls"] = [one for one in profile["syscalls"] if one["names"] != ["unshare"]]
    path = folder / "narrow.json"
    path.write_text(json.dumps(profile))
    variables = {
        "ASSAY_STORE_DATABASE": server.url,
        "ASSAY_SANDBOX_WORKERS_IMAGES": images,
        "ASSAY_SANDBOX_WORKERS_REQUIRE": '["namespaces"]',
    }
    node = Process(binary.path, folder / "narrow", ["serve", "--strict"], variables, path)
    node.spawn()
    try:
        node.process.wait(30)
    except subprocess.TimeoutExpired:
        node.kill()
    last = node.said().strip().splitlines()[-1]
    print(f"without `unshare` in the profile: {last}")
    return [] if "namespaces" in last else ["the node started without namespaces"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=4, help="length of each phase")
    asked = parser.parse_args()
    if os.getuid() != 0 or not shutil.which("haproxy"):
        sys.exit("trial.py: needs root and HAProxy")
    # Ends what was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="assay-trial-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        # Where the user of the container can read them.
        program = folder / "assay"
        shutil.copy(asked.binary, program)
        images = folder / "images"
        subprocess.run(["cp", "-R", IMAGES, images], check=True)
        subprocess.run(["chmod", "-R", "a+rX", images], check=True)
        (folder / "server").mkdir()
        server = chaos.Server(folder / "server")
        binary = names.Binary(str(program))
        try:
            problems, key = compose_trial(binary, folder, server, str(images), asked.seconds)
            problems += kubernetes_trial(binary, folder, server, str(images), key)
            if shutil.which("systemd-analyze"):
                problems += systemd_trial(binary, folder, server, str(images), key)
            problems += without_namespaces(binary, folder, server, str(images))
        finally:
            server.stop()
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
