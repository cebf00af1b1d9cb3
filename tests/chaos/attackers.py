"""Hostile callers beside the load: the attacks of `tests/sharing`, one after another, from an address
of their own, so that the node counts them as another caller.
"""

import collections
import os
import pathlib
import subprocess
import sys
import threading

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "sharing" / "attacks.py"
ADDRESS = "127.0.0.2"
SECONDS = 20
# Below the priority of the node, so that the attackers' own work does not delay it.
NICENESS = 10
# A node of the chaos run has no keys to sign in with.
NEED_KEYS = {"sign-ins"}


def names():
    """The attacks that need no key."""
    listed = subprocess.run(
        [sys.executable, str(SCRIPT), "--list"], capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split() if name not in NEED_KEYS]


class Attackers:
    """Attacks a node, whatever port it has, until `stop`."""

    def __init__(self, node, chosen):
        self.node, self.chosen = node, chosen
        self.counts = collections.Counter()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        turn = 0
        while not self.over.is_set():
            if not self.node.running.wait(1):
                continue
            name = self.chosen[turn % len(self.chosen)]
            turn += 1
            self.attack(name)

    def attack(self, name):
        command = [sys.executable, str(SCRIPT), name, str(self.node.port), "--source", ADDRESS]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.nice(NICENESS),
        )
        try:
            self.over.wait(SECONDS)
            # An attack that ended early met a node that was stopping.
            self.counts[name if process.poll() is None else "ended early"] += 1
        finally:
            process.kill()
            process.wait()

    def stop(self):
        self.over.set()
        self.thread.join(SECONDS)
