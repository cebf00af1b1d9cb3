"""The format of messages: a length, a JSON header, blobs."""

from . import isolation

isolation.own_builtins(globals())

import json  # noqa: E402

# Use the C scanner and encoder directly: the rest of `json` looks up names that programs may patch.
_scan = json.JSONDecoder().scan_once
_encode = json.encoder.c_make_encoder(
    None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)


def dumps(value):
    return "".join(_encode(value, 0))


def loads(text):
    return _scan(text, 0)[0]


def write(header, *blobs):
    header["blobs"] = [len(blob) for blob in blobs]
    head = dumps(header).encode()
    return b"".join((len(head).to_bytes(4, "little"), head, *blobs))


def read(message):
    start = 4 + int.from_bytes(message[:4], "little")
    header = loads(message[4:start].decode())
    blobs = []
    for length in header["blobs"]:
        blobs.append(message[start : start + length])
        start += length
    return header, blobs
