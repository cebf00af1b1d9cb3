#!/usr/bin/env python3
"""Damages images at random places, in files that a running node has loaded, and grades programs in them.

usage: damage.py PATH/TO/assay [--count N] [--seed N]

Before each program, bytes of one file of the image are overwritten in place, in a copy; after it
they are restored. Exits with 1 if a program in a damaged image gets a verdict, or one in a restored
image does not. The time of each damage includes two comparisons with the checksums and the start of
a worker.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

LANGUAGES = {
    "python": ("python", "print({0} * 2)"),
    "python-scientific": ("python", "import numpy\nprint(int(numpy.array([{0}]).sum()) * 2)"),
    "javascript": ("javascript", "console.log({0} * 2)"),
    "cpp": ("cpp", "#include <bits/stdc++.h>\nint main() {{ std::cout << {0} * 2; }}"),
}
# As many blocks as a disk or a file system damages at once.
SIZES = [1, 512, 4096]
START_SECONDS = 120


class Node:
    def __init__(self, binary, folder, images):
        self.log = folder / "log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        environment |= {
            "ASSAY_SANDBOX_WORKERS_IMAGES": str(images),
            "ASSAY_SANDBOX_WORKERS_COUNT": "1",
            "NO_COLOR": "1",
        }
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--listen", "127.0.0.1:0", "--database", ""],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + START_SECONDS
        while True:
            found = re.search(r"listening.*?127\.0\.0\.1:(\d+)", self.log.read_text())
            if found:
                break
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the node does not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)
        self.port = int(found.group(1))

    def grade(self, language, code, stdout):
        task = {
            "type": "code",
            "language": language,
            "tests": [{"stdin": "", "stdout": stdout}],
        }
        body = {"items": [{"completion": f"```{language}\n{code}\n```", "task": task}]}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request("POST", "/v1/grade", json.dumps(body))
            reply = connection.getresponse()
            read = reply.read()
            if reply.status != 200:
                raise SystemExit(f"status {reply.status}: {read[:500]!r}")
            return json.loads(read)["results"][0]
        finally:
            connection.close()

    def stop(self):
        self.process.terminate()
        self.process.wait()


def copy_images(to):
    """Copies the installed images that were built, without what they were compiled from."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    installed = pathlib.Path(cache) / "assay" / "images"
    to.mkdir()
    for path in installed.iterdir():
        if path.name.split(".")[0] not in LANGUAGES or path.suffix == ".wasm":
            continue
        if path.is_dir():
            shutil.copytree(path, to / path.name)
        else:
            shutil.copy(path, to / path.name)


def files_of(images, name):
    """Files of an image and how likely each is damaged: by its size, but small ones often enough."""
    return [
        (path, max(path.stat().st_size, 1 << 20))
        for path in images.rglob("*")
        if path.is_file() and path.relative_to(images).parts[0].split(".")[0] == name
    ]


def overwrite(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def damage(rng, files):
    """Overwrites bytes of a file; returns how to restore them."""
    path = rng.choices([path for path, _ in files], [weight for _, weight in files])[0]
    size = min(rng.choice(SIZES), path.stat().st_size)
    at = rng.randrange(path.stat().st_size - size + 1)
    with open(path, "rb") as file:
        file.seek(at)
        intact = file.read(size)
    other = intact
    while other == intact:
        other = rng.randbytes(size)
    overwrite(path, at, other)
    return path, at, intact


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--count", type=int, default=1000, help="damaged images of all languages")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    binary, rng = os.path.abspath(options.binary), random.Random(options.seed)
    wrong = []
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home)
        images = folder / "images"
        copy_images(images)
        node = Node(binary, folder, images)
        try:
            for name, (language, code) in LANGUAGES.items():
                wrong += trials(node, rng, name, language, code, files_of(images, name), options)
        finally:
            node.stop()
    for line in wrong[:20]:
        print(f"  FAIL {line}")
    print(f"\n{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


def trials(node, rng, name, language, code, files, options):
    """Problems with damaged copies of one image."""
    count, wrong, codes = options.count // len(LANGUAGES), [], {}
    began = time.monotonic()
    for number in range(1, count + 1):
        restore = damage(rng, files)
        result = node.grade(language, code.format(number), str(2 * number))
        error = (result.get("error") or {}).get("code")
        codes[error] = codes.get(error, 0) + 1
        if result["outcome"] != "failed" or result.get("reward") is not None:
            wrong.append(f"{restore[0]} at {restore[1]}: {result}")
        overwrite(*restore)
        result = node.grade(language, code.format(number), str(2 * number))
        if result.get("verdict") != "accepted":
            wrong.append(f"{name} restored: {result}")
    took = (time.monotonic() - began) / max(1, count)
    print(f"{name:18} {count} damaged images: {codes}, {took * 1000:.0f} ms each", flush=True)
    return wrong


if __name__ == "__main__":
    main()
