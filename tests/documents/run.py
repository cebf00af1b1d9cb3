"""Runs the examples of the documents and compares their output.

`run.py BINARY [DOCUMENT…]`. Blocks marked `console` contain commands after `$` and their output;
blocks marked `sh` contain commands that must succeed. All blocks of a document run in one folder,
beside a service whose address takes the place of `http://127.0.0.1:8080`.

In an expected output, `…` matches any text. A `json` block after a `console` block whose last
command has no output is the expected reply: `"…"` as a key allows further keys, and as the last
element further elements.

A comment before a block changes what happens to it: `<!-- not run: REASON -->`,
`<!-- file: NAME -->` writes it to a file, and `<!-- reply: POINTER -->` names the part of the reply
that a `json` block shows.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "127.0.0.1:8080"
TIMEOUT = 300

BLOCK = re.compile(
    r"(?:<!-- (?P<kind>not run|file|reply): (?P<value>[^>]*) -->\s*)?"
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

# Documents shorten numbers.
TOLERANCE = 0.001


class Failure(Exception):
    pass


class Block:
    """A fenced block and the comment before it."""

    def __init__(self, found, text):
        self.language, self.text = found["language"], found["text"]
        self.line = text.count("\n", 0, found.start("text")) + 1
        self.comment = {found["kind"]: found["value"]} if found["kind"] else {}
        self.is_command = self.language in ("console", "sh")


def part(reply, pointer):
    """The part of a reply at a JSON pointer."""
    for step in pointer.split("/")[1:]:
        reply = reply[int(step) if isinstance(reply, list) else step]
    return reply


def is_complete(command):
    """Whether a command has no open quote or here-document."""
    checked = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True)
    return not re.search("unexpected EOF|here-document", checked.stderr)


def commands(text):
    """The commands of a console block, each with its expected output."""
    lines, found = text.splitlines(), []
    while lines:
        line = lines.pop(0)
        if not line.startswith("$ "):
            if not found:
                raise Failure("the block does not begin with a command")
            found[-1][1].append(line)
            continue
        command = line[2:]
        while not is_complete(command) and lines:
            command += "\n" + lines.pop(0)
        found.append((command, []))
    return [(command, "\n".join(output)) for command, output in found]


def words(text):
    """White space is not compared: tables are as wide as their contents."""
    return " ".join(text.split())


def check_text(expected, actual):
    pattern = ".*?".join(re.escape(part) for part in words(expected).split("…"))
    if not re.fullmatch(pattern, words(actual), re.DOTALL):
        raise Failure(f"expected:\n{expected}\nactual:\n{actual}")


def check_json(expected, actual, where="$"):
    if expected == "…":
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            if key == "…":
                continue
            if key not in actual:
                raise Failure(f"{where}: no key `{key}`")
            check_json(value, actual[key], f"{where}.{key}")
        if extra := "…" not in expected and actual.keys() - expected.keys():
            raise Failure(f"{where}: further keys {sorted(extra)}")
    elif isinstance(expected, list) and isinstance(actual, list):
        parts = expected[:-1] if expected[-1:] == ["…"] else expected
        if len(actual) < len(parts) or parts is expected and len(actual) != len(parts):
            raise Failure(f"{where}: {len(actual)} elements")
        for index, part in enumerate(parts):
            check_json(part, actual[index], f"{where}[{index}]")
    elif isinstance(expected, str) and isinstance(actual, str) and "…" in expected:
        check_text(expected, actual)
    elif isinstance(expected, float) and isinstance(actual, (int, float)):
        if abs(expected - actual) > TOLERANCE:
            raise Failure(f"{where}: {actual!r} instead of {expected!r}")
    elif expected != actual:
        raise Failure(f"{where}: {actual!r} instead of {expected!r}")


class Service:
    """A service in a folder of its own."""

    def __init__(self, binary, folder, environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = (folder / "serve.log").open("w")
        command = [binary, "serve", "--listen", self.address]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=self.log, stderr=self.log
        )
        ready = ["curl", "-sf", "--retry", "60", "--retry-all-errors", "--retry-delay", "1"]
        subprocess.run([*ready, f"http://{self.address}/readyz"], check=True, capture_output=True)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(TIMEOUT)
        self.log.close()


def run(command, folder, environment):
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    return ran.returncode, ran.stdout + ran.stderr


def run_block(block, follows, folder, environment, address):
    """Runs the commands of a block and returns their number."""
    text = block.text.replace(ADDRESS, address)
    if block.language == "sh":
        status, output = run("set -e\n" + text, folder, environment)
        if status:
            raise Failure(f"exit status {status}:\n{output}")
        return 1
    listed = commands(text)
    for command, expected in listed:
        _, output = run(command, folder, environment)
        if expected:
            check_text(expected, output)
    is_reply = follows is not None and follows.language == "json"
    if is_reply and not listed[-1][1]:
        pointer = follows.comment.get("reply", "")
        check_json(json.loads(follows.text), part(json.loads(output), pointer))
    return len(listed)


def run_document(path, binary):
    """Runs the blocks of a document. Returns the number of commands and the reasons not to run."""
    text = path.read_text()
    found = [Block(match, text) for match in BLOCK.finditer(text)]
    skipped = [block.comment["not run"] for block in found if "not run" in block.comment]
    if not any(block.is_command and "not run" not in block.comment for block in found):
        return 0, skipped
    environment = os.environ | {"PATH": f"{Path(binary).parent}:{os.environ['PATH']}"}
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        service = Service(binary, folder, environment)
        try:
            for block, follows in zip(found, [*found[1:], None]):
                if "file" in block.comment:
                    (folder / block.comment["file"]).write_text(block.text)
                if not block.is_command or "not run" in block.comment:
                    continue
                try:
                    count += run_block(block, follows, folder, environment, service.address)
                except (Failure, subprocess.TimeoutExpired, json.JSONDecodeError) as failure:
                    place = f"{path.relative_to(ROOT)}:{block.line}"
                    raise SystemExit(f"{place}: {failure}") from None
        finally:
            service.stop()
    return count, skipped


def main():
    binary, *names = sys.argv[1:]
    binary = str(Path(binary).resolve())
    paths = [Path(name).resolve() for name in names]
    paths = paths or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    total, reasons = 0, []
    for path in paths:
        count, skipped = run_document(path, binary)
        total += count
        reasons += [f"{path.relative_to(ROOT)}: {reason}" for reason in skipped]
    print(f"{total} examples of the documents ran, {len(reasons)} blocks did not:")
    for reason in reasons:
        print(f"  {reason}")
    if total == 0:
        sys.exit("no example was found")


main()
