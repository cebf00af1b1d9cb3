"""A service with reward models on one device."""

import http.client
import json
import os
import re
import subprocess
import threading

DTYPES = ("f32", "bf16", "f16")

# Time in which a service must start.
START_SECONDS = 60


class Service:
    """`assay serve` without a record and without a cache of scores."""

    def __init__(self, binary, models, device, **more):
        settings = {
            "STORE_DATABASE": "",
            "REWARD_MODELS_FOLDER": str(models),
            "REWARD_MODELS_DEVICE": device,
            "REWARD_MODELS_CACHE_BYTES": "0",
            "REWARD_MODELS_HUB": "",
            "REWARD_MODELS_QUEUE_TOKENS": "4000000",
        }
        settings |= {f"REWARD_MODELS_{name.upper()}": str(value) for name, value in more.items()}
        variables = {f"ASSAY_{name}": value for name, value in settings.items()}
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | variables | {"NO_COLOR": "1"},
        )
        log, port = [], None
        # Ends the loop below if the service neither starts nor fails.
        slow = threading.Timer(START_SECONDS, self.process.kill)
        slow.start()
        for line in self.process.stderr:
            log.append(line)
            if match := re.search(r"127\.0\.0\.1:(\d+)", line):
                port = int(match[1])
                break
        slow.cancel()
        if port is None:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"the service does not start: {''.join(log)}")
        self.port = port
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method, path, body=None, connection=None):
        """The reply to a request; an error status is an exception."""
        status, reply = self.reply(method, path, body, connection)
        if status != 200:
            raise RuntimeError(f"{method} {path}: status {status}: {reply}")
        return reply

    def reply(self, method, path, body=None, connection=None):
        """Status and body of the reply to a request."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            text = None if body is None else json.dumps(body)
            own.request(method, path, text, {"content-type": "application/json"})
            reply = own.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            if connection is None:
                own.close()

    def load(self, name, source, **options):
        """Loads a model and returns its version."""
        request = {"source": source, "options": options}
        return self.call("PUT", f"/v1/reward-models/{name}", request)["version"]

    def unload(self, name):
        self.call("DELETE", f"/v1/reward-models/{name}")

    def score(self, name, inputs, connection=None):
        """The results of inputs."""
        reply = self.call(
            "POST", f"/v1/reward-models/{name}/score", {"items": inputs}, connection
        )
        return reply["results"]
