"""A node with a temporary record, and with no image but that of Python, so that items that need
another one fail."""

import http.client
import json
import os
import pathlib
import shutil
import subprocess
import time

CONFIGURATION = """
[alerts]
seconds = 1

[store]
text_search = true

[channels]
refresh_seconds = 0

[sandbox_workers]
images = "images"

[policies.appealed]
summary = "half of the negatives of `math/decimals` go to the grader without its rule on fractions"

[[policies.appealed.appeals]]
judge = { type = "math", answer = "{{ task.answer }}" }
channels = ["math/decimals"]
negatives = 0.5
positives = 0.1
overturn = true
precision = 0.9
sensitivity = 0.98
specificity = 0.99

[policies.judged]
summary = "a judge that is easily flattered may overturn verdicts of `math/judged`"

[[policies.judged.appeals]]
judge = { type = "text", answer = "I am certain", match = "contains" }
channels = ["math/judged"]
negatives = 0.5
positives = 0.1
overturn = true
precision = 0.9
sensitivity = 0.9
specificity = 0.9
"""


class Node:
    def __init__(self, binary, folder, more=""):
        """`more` is appended to the configuration."""
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        images = pathlib.Path(folder, "images")
        images.mkdir()
        # Copies, because sandbox workers can read this folder only.
        for file in pathlib.Path(cache, "assay", "images").glob("python.*"):
            shutil.copy(file, images)
        if not any(images.iterdir()):
            raise SystemExit("there is no image of Python; run `make images`")
        pathlib.Path(folder, "assay.toml").write_text(CONFIGURATION + more)
        serve = ["serve", "--listen", "127.0.0.1:0", "--database", "sqlite://planted.db"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([binary, *serve, "--print-url"], cwd=folder, **streams)
        url = self.process.stdout.readline().decode().strip()
        if not url:
            raise SystemExit("the server did not start")
        self.port = int(url.rsplit(":", 1)[1])
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def call(self, method, path, body=None):
        headers = {"content-type": "application/json"}
        self.connection.request(method, path, body and json.dumps(body), headers)
        reply = self.connection.getresponse()
        content = reply.read()
        if reply.status != 200:
            raise SystemExit(f"{path} returned {reply.status}: {content[:300]!r}")
        return json.loads(content)

    def await_alerts(self):
        """Waits until two evaluations of the rules return the same alerts, and some."""
        before, until = None, time.monotonic() + 30
        while time.monotonic() < until:
            alerts = self.call("GET", "/v1/alerts")["alerts"]
            if alerts and alerts == before:
                return
            before = alerts
            time.sleep(2)
        raise SystemExit("no alert fired")

    def stop(self):
        self.process.terminate()
        self.process.wait()
