"""Compares what manifests name with a binary: settings, commands, paths, metrics and labels."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request

START_SECONDS = 60
# Variables of commands, which are no settings.
OTHER_VARIABLES = {"ASSAY_KEY", "ASSAY_SERVER"}
BATCH = b'{"items":[{"task":{"type":"math","answer":"1"},"completion":"\\\\boxed{1}"}]}'


class Binary:
    """The program that the manifests start."""

    def __init__(self, path):
        self.path = path

    def run(self, arguments, environment=(), folder="/"):
        """The standard output of a command; a `ValueError` with its error if it fails."""
        done = subprocess.run(
            [self.path, *arguments],
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **dict(environment)},
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ValueError(f"`assay {' '.join(arguments)}`: {done.stderr.strip()}")
        return done.stdout

    def variables(self):
        """The environment variables of all settings."""
        settings = tomllib.loads(self.run(["serve", "--print-config"]))
        return {
            f"ASSAY_{section}_{key}".upper() for section, keys in settings.items() for key in keys
        }

    def settings(self, arguments, environment, toml=None):
        """The effective configuration of a node with these arguments and variables. A file that
        `--config` names is replaced by one with the text `toml`."""
        arguments = list(arguments)
        with tempfile.TemporaryDirectory() as folder:
            if "--config" in arguments:
                path = os.path.join(folder, "assay.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(toml)
                arguments[arguments.index("--config") + 1] = path
            return tomllib.loads(self.run([*arguments, "--print-config"], environment))

    def check_command(self, arguments):
        """Fails if there is no such command, or it has no such options."""
        self.run([*arguments, "--help"])

    @contextlib.contextmanager
    def serving(self):
        """The URL of a node that has graded a batch."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = "{}:{}".format(*probe.getsockname())
        with tempfile.TemporaryDirectory() as folder:
            variables = {"PATH": os.environ["PATH"], "HOME": folder}
            process = subprocess.Popen(
                [self.path, "serve", "--listen", address],
                cwd=folder,
                env=variables,
                stderr=subprocess.DEVNULL,
            )
            try:
                url = f"http://{address}"
                until = time.monotonic() + START_SECONDS
                while status(f"{url}/readyz") != 200:
                    if process.poll() is not None or time.monotonic() > until:
                        sys.exit("check.py: the node is not ready")
                    time.sleep(0.05)
                headers = {"content-type": "application/json"}
                urllib.request.urlopen(urllib.request.Request(f"{url}/v1/grade", BATCH, headers))
                yield url
            finally:
                process.terminate()
                process.wait()


def status(url):
    """The status of a `GET`; 0 if the connection is refused."""
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def series(url):
    """The labels of each metric of a node."""
    found = {}
    with urllib.request.urlopen(f"{url}/metrics") as reply:
        for line in reply.read().decode().splitlines():
            if line and not line.startswith("#"):
                name = re.match("[a-z_]+", line).group()
                found.setdefault(name, set()).update(re.findall('([a-z_]+)="', line))
    return found


def unknown_metrics(expression, known, added):
    """What an expression of Prometheus names that a node does not have. `added` are the labels that
    Prometheus adds."""
    found = []
    for name, matchers in re.findall(r"\b(assay_[a-z_]+)(?:\{([^}]*)\})?", expression):
        if name not in known:
            found.append(f"no metric `{name}`")
            continue
        labels = set(re.findall(r"([a-z_]+)\s*=", matchers))
        found += [f"no label `{label}`" for label in labels - known[name] - added]
    return found


def unknown_variables(text, known):
    """Variables in a text that start with `ASSAY_` and are no settings."""
    found = set(re.findall(r"\bASSAY_[A-Z0-9_]*[A-Z0-9]\b", text))
    return sorted(found - known - OTHER_VARIABLES)
