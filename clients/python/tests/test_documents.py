"""The examples of the documents, and files that are generated."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import Node

from assay import _binary

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
DOCUMENTS = [ROOT / "docs" / "PYTHON.md", HERE / "README.md"]

# Modules for trainers, and the libraries that they import.
TRAINERS = {
    "openenv.py": "openenv",
    "openreward.py": "openreward",
    "roll.py": "torch",
    "skyrl.py": "skyrl_gym",
    "slime.py": "slime",
    "tinker.py": "tinker_cookbook",
    "verifiers.py": "verifiers",
    "verl_estimators.py": "verl",
    "verl_manager.py": "verl",
}

BLOCK = re.compile(
    r"(?:<!-- (?P<not_run>not run): [^>]* -->\s*)?"
    r"^```(?P<language>python|text)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def words(text: str) -> str:
    """White space is not compared: tables are as wide as their contents."""
    return " ".join(text.split())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_examples_print_what_the_document_shows(
    path: Path, node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    text = path.read_text()
    blocks = list(BLOCK.finditer(text))
    names: dict[str, Any] = {}
    ran = compared = 0
    printed = ""
    for block in blocks:
        if block["not_run"]:
            continue
        if block["language"] == "text":
            pattern = ".*?".join(re.escape(part) for part in words(block["text"]).split("…"))
            assert re.fullmatch(pattern, words(printed), re.DOTALL), (block["text"], printed)
            compared += 1
            continue
        line = text.count("\n", 0, block.start("text"))
        source = block["text"].replace("http://127.0.0.1:8080", node.url)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile("\n" * line + source, str(path), "exec"), names)
        printed = output.getvalue()
        ran += 1
    for name in ("client", "server"):
        if name in names:
            names[name].close()
    assert ran >= 1
    assert compared >= 1


def test_models_are_current() -> None:
    command = [sys.executable, str(HERE / "generate.py"), _binary.find(), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_the_reference_is_current() -> None:
    pytest.importorskip("griffe")
    command = [sys.executable, str(HERE / "reference.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_mypy_finds_no_errors() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy"]
    checked = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _check_with_pyright(without: set[str]) -> None:
    files = [file for file in (HERE / "src/assay").iterdir() if file.suffix == ".py"]
    checked_files = [str(file) for file in files if file.name not in without]
    assert len(checked_files) > 20
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *checked_files]
    checked = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_pyright_finds_no_errors() -> None:
    pytest.importorskip("pyright")
    # Pyright cannot check a module whose library is not installed.
    libraries = {"ray.py": "ray", "spark.py": "pyspark", **TRAINERS}
    _check_with_pyright(
        {name for name, library in libraries.items() if importlib.util.find_spec(library) is None}
    )


@pytest.mark.heavy
def test_pyright_finds_no_errors_with_all_libraries() -> None:
    pytest.importorskip("pyright")
    # `tests/trainers` checks these.
    _check_with_pyright(set(TRAINERS))
