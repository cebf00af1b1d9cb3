#!/usr/bin/env python3
"""Opens interpreter sessions, calls them at a steady rate while workers are killed, kills the node
and starts it again in between, and checks every reply.

usage: sessions.py PATH/TO/assay [--sessions N] [--rate CALLS] [--seconds S] [--memory-mb M]
                   [--kill-every S] [--replays N] [--seed N]

Prints the time of calls (from the time at which they were due), the memory of an idle session, and
what failed. The exit status is 1 if a reply is wrong, a session is lost or a replay differs.
"""

import argparse
import asyncio
import collections
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

CONNECTIONS = 64
CHUNK = 500
OPENING = "class Count:\n    calls = 0\nme = {number}\ndata = [me] * 100"
CALL = "Count.calls += 1\nprint(1)\nme, Count.calls, len(data)"


class Node:
    """The service, in a folder that it keeps over restarts."""

    def __init__(self, binary, folder, memory_mb):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = Path(folder)
        self.command = [binary, "serve", "--listen", f"127.0.0.1:{self.port}"]
        self.environment = {
            **os.environ,
            "ASSAY_SESSIONS_MEMORY_BYTES": str(memory_mb << 20),
            "NO_COLOR": "1",
        }

    def start(self):
        """Starts it, and returns the seconds until it is ready."""
        began = time.monotonic()
        log = open(self.folder / "serve.log", "a")
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, env=self.environment, stdout=log, stderr=log
        )
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5)
                return time.monotonic() - began
            except OSError:
                if self.process.poll() is not None:
                    sys.exit((self.folder / "serve.log").read_text()[-4000:])
                time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def pss(self):
        """Memory of the node without its workers, in bytes."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) << 10 for line in rollup.splitlines() if "Pss:" in line)

    def workers(self):
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for path in children for child in path.read_text().split()]

    def stored(self):
        """Bytes of the files of sessions."""
        folder = self.folder / "assay.db.sessions"
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    def post(self, path, body):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
            return reply.read().decode()


class Connection:
    """A connection that is opened when it is needed."""

    def __init__(self, port):
        self.port, self.streams = port, None

    async def post(self, path, body):
        """Status and body of a reply. Raises `OSError` or `EOFError` if the connection is lost."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(data)}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + data)
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            reply = await reader.readexactly(length)
            return int(head.split(" ", 2)[1]), json.loads(reply)
        except BaseException:
            self.streams = None
            writer.close()
            raise


class Session:
    """A session, and the calls that it must have run."""

    def __init__(self, number, id):
        self.number, self.id = number, id
        self.calls = 0
        # A call whose reply was lost: nobody knows whether it ran.
        self.is_uncertain = False
        self.lock = asyncio.Lock()


class Load:
    def __init__(self, node, options):
        self.node, self.options = node, options
        self.chance = random.Random(options.seed)
        self.connections = [Connection(node.port) for _ in range(CONNECTIONS)]
        self.free = asyncio.Queue()
        for connection in self.connections:
            self.free.put_nowait(connection)
        self.sessions = []
        self.times, self.outcomes, self.wrong = [], collections.Counter(), []
        # Memory of the node in bytes, every tenth of the time.
        self.memory = []

    def open(self):
        """Opens all sessions and runs their first call."""
        before, began = self.node.pss(), time.monotonic()
        for number in range(self.options.sessions):
            opened = self.node.post("/v1/sessions", {"language": "python", "seed": number})
            self.sessions.append(Session(number, opened["id"]))
        opened = time.monotonic() - began
        for start in range(0, len(self.sessions), CHUNK):
            calls = [
                {"session": session.id, "run": {"code": OPENING.format(number=session.number)}}
                for session in self.sessions[start : start + CHUNK]
            ]
            for result in self.node.post("/v1/sessions/run", {"calls": calls})["results"]:
                assert result["reply"]["outcome"] == "ok", result
        called = time.monotonic() - began - opened
        count = len(self.sessions)
        memory, stored = self.node.pss() - before, self.node.stored()
        print(f"opened {count} sessions in {opened:.1f} s, first calls in {called:.1f} s")
        print(f"memory of an idle session: {memory / count / 1024:.1f} KiB")
        print(f"files of an idle session: {stored / count / 1024:.1f} KiB", flush=True)

    async def call(self, due):
        session = self.chance.choice(self.sessions)
        async with session.lock:
            connection = await self.free.get()
            try:
                status, reply = await connection.post(
                    f"/v1/sessions/{session.id}/run", {"code": CALL}
                )
            except (OSError, EOFError):
                # The node was killed.
                self.outcomes["connection lost"] += 1
                session.is_uncertain = True
                return
            finally:
                self.free.put_nowait(connection)
            self.check(session, status, reply)
        self.times.append(time.monotonic() - due)

    def check(self, session, status, reply):
        if status != 200:
            self.outcomes[reply["error"]["code"]] += 1
            if reply["error"]["code"] not in ("call_failed", "overloaded", "shutting_down"):
                self.wrong.append(reply)
            return
        self.outcomes[f"restored {reply['restored']}" if reply["restored"] else "ok"] += 1
        expected = [session.calls + 1] + [session.calls + 2] * session.is_uncertain
        values = [str((session.number, calls, 100)) for calls in expected]
        if reply["value"] not in values or reply["stdout"] != "1\n":
            self.wrong.append((values, reply))
            return
        session.calls = expected[values.index(reply["value"])]
        session.is_uncertain = False

    async def steady(self, seconds):
        """Calls random sessions at the rate, while workers are killed."""
        began = time.monotonic()
        tasks, next_kill = set(), began + self.options.kill_every
        next_look = began
        for number in range(int(seconds * self.options.rate)):
            due = began + number / self.options.rate
            await asyncio.sleep(max(due - time.monotonic(), 0))
            task = asyncio.create_task(self.call(due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            if time.monotonic() >= next_look:
                next_look += self.options.seconds / 10
                self.memory.append(self.node.pss())
            if time.monotonic() >= next_kill and (workers := self.node.workers()):
                next_kill += self.options.kill_every
                os.kill(self.chance.choice(workers), signal.SIGKILL)
                self.outcomes["workers killed"] += 1
        return tasks

    async def run(self):
        half = self.options.seconds / 2
        tasks = await self.steady(half)
        # Calls are in progress.
        self.node.kill()
        await asyncio.gather(*tasks)
        for connection in self.connections:
            connection.streams = None
        print(f"killed the node; ready again after {self.node.start():.2f} s", flush=True)
        await asyncio.gather(*await self.steady(half))

    def report(self):
        self.times.sort()
        at = lambda share: self.times[int(len(self.times) * share)] * 1e3
        print(f"calls: p50 {at(0.5):.2f} ms, p99 {at(0.99):.2f} ms, max {at(0.9999):.1f} ms")
        print("outcomes: " + ", ".join(f"{n} {name}" for name, n in self.outcomes.most_common()))
        memory = ", ".join(f"{bytes / (1 << 20):.0f}" for bytes in [*self.memory, self.node.pss()])
        print(f"memory of the node over time: {memory} MiB")
        for line in self.node.get("/metrics").splitlines():
            if line.startswith(("assay_session_states", "assay_sessions_open")):
                print(line)
        differing = 0
        chosen = self.chance.sample(self.sessions, min(self.options.replays, len(self.sessions)))
        for session in chosen:
            log = json.loads(self.node.get(f"/v1/sessions/{session.id}/log"))
            differing += not self.node.post("/v1/sessions/replay", log)["equal"]
        print(f"replayed {len(chosen)} logs, {differing} differ")
        for wrong in self.wrong[:10]:
            print("wrong:", wrong)
        restored = sum(n for name, n in self.outcomes.items() if name.startswith("restored"))
        has_worked = restored > 0 and self.outcomes["ok"] > 0
        return has_worked and not self.wrong and not differing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=os.path.abspath)
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--memory-mb", type=int, default=256)
    parser.add_argument("--kill-every", type=float, default=5)
    parser.add_argument("--replays", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        node = Node(options.binary, folder, options.memory_mb)
        node.start()
        try:

            async def all_of_it():
                load = Load(node, options)
                load.open()
                await load.run()
                return load.report()

            is_right = asyncio.run(all_of_it())
        finally:
            node.stop()
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
