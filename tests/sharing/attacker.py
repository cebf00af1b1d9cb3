"""The sender of the attacks: a caller that counts its replies, and frames of HTTP/2.

The caller is known by its key, or by its address if the node has no keys.
"""

import gzip
import http.client
import json
import socket
import struct
import time

from node import request

# Longer than a run, so that an attacker never gives up by itself.
TIMEOUT_SECONDS = 600
# A caller that is refused waits this long, so that refusals alone do not fill the CPU.
REFUSED_SECONDS = 0.05


class Attacker:
    """Sends requests. `counts` are numbers of accepted, rejected and open requests."""

    def __init__(self, port, key, source, counts):
        self.port, self.key, self.source, self.counts = port, key, source, counts
        self.fields = {"authorization": f"Bearer {key}"} if key else {}
        self.held = []

    def count(self, answered):
        """Counts a reply by its status; a request without a reply is open."""
        with self.counts.get_lock():
            self.counts[2] -= 1
            self.counts[0 if answered < 400 else 1] += 1

    def open(self, number=1):
        with self.counts.get_lock():
            self.counts[2] += number

    def fields_of_head(self):
        """The fields that every head of HTTP/1 contains."""
        fields = {"host": "127.0.0.1", **self.fields}
        return "".join(f"{name}: {value}\r\n" for name, value in fields.items())

    def request(self, method, path, body=None, headers=()):
        return request(
            self.port, method, path, body, self.key, headers, TIMEOUT_SECONDS, self.source
        )

    def post(self, path, body, headers=()):
        """The reply, or nothing if the connection failed, which counts as rejected."""
        self.open()
        try:
            status, reply = self.request("POST", path, body, headers)
        except (OSError, http.client.HTTPException):
            status, reply = 599, b""
        self.count(status)
        if status >= 400:
            time.sleep(REFUSED_SECONDS)
        return reply

    def grade(self, items, **fields):
        body = json.dumps({"fields": ["verdict"], "items": items, **fields}).encode()
        packed = gzip.compress(body, 1)
        return self.post("/v1/grade", packed, {"content-encoding": "gzip"})

    def connect(self, data):
        """A connection that stays open, on which `data` was sent."""
        origin = (self.source, 0) if self.source else None
        connection = socket.create_connection(("127.0.0.1", self.port), 30, origin)
        connection.sendall(data)
        self.held.append(connection)
        return connection


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def sized(text):
    """A string of HPACK, which has at most 253 bytes here."""
    data = text.encode()
    size = bytes([len(data)]) if len(data) < 127 else bytes([127, len(data) - 127])
    return size + data


def status_of(head):
    """Status in the first bytes of a reply."""
    words = head.split(b" ", 2)
    return int(words[1]) if len(words) > 1 else 599
