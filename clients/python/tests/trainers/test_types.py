"""The types of the adapters agree with those of the trainers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import assay

# `slime` is not on PyPI.
MODULES = ["openreward", "roll", "skyrl", "tinker", "verifiers", "verl_estimators", "verl_manager"]


def test_pyright_finds_no_errors() -> None:
    folder = Path(assay.__file__).parent
    files = [str(folder / f"{name}.py") for name in MODULES]
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *files]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=folder.parents[1])
    assert checked.returncode == 0, checked.stdout + checked.stderr
