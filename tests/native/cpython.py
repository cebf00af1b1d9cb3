"""Runs programs and their tests in a native CPython, one process each."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"
SECONDS = 60


class Failed(Exception):
    """A program that does not behave natively as its entry requires."""


def stdin_test(python, program, stdin, seed):
    """Standard output and exit status of a program that reads standard input."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "program", "main.py")
        ended = _run(python, program, file, [str(file)], stdin, seed)
    try:
        return ended.stdout.decode(), ended.returncode, ended.stderr.decode(errors="replace")
    except UnicodeDecodeError as error:
        raise Failed("the output is not UTF-8, and an expectation is text") from error


def test(python, entry, test, seed):
    """What a call returns, or how an assert ends: `{"returns"}`, `{"passed"}` or `{"raised"}`."""
    asked = {name: entry.get(name, "") for name in ("prelude", "program", "test_setup")}
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        asked |= {"test": test, "result": str(result)}
        file = pathlib.Path(folder, "program", "asked.json")
        ended = _run(python, json.dumps(asked), file, [str(WORKER), str(file)], "", seed)
        if not result.exists():
            raise Failed(f"no result: {ended.stderr.decode(errors='replace')[-300:]}")
        return json.loads(result.read_text(encoding="utf-8"))


def _run(python, text, file, arguments, stdin, seed):
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    work = file.parent.parent / "work"
    work.mkdir()
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(work),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    environment |= {"PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, *arguments]
    try:
        return subprocess.run(
            command,
            cwd=work,
            input=stdin.encode(),
            env=environment,
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"no end within {SECONDS} s") from error


def version(python):
    return subprocess.run(
        [python, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


if sys.version_info < (3, 9):
    raise SystemExit("needs Python 3.9 or newer")
