"""Finds the binary `assay`."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from assay.errors import BinaryNotFoundError

VARIABLE = "ASSAY_BINARY"


def _folders() -> list[Path]:
    """Folders into which `pip` installs the scripts of this environment."""
    user = "nt_user" if os.name == "nt" else "posix_user"
    paths = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user)]
    folders = [Path(path) for path in paths if path]
    # The scripts of `pip install --target`.
    folders.append(Path(__file__).resolve().parents[1] / "bin")
    # Those of an environment whose interpreter is a link.
    folders.append(Path(sys.executable or "python").parent)
    return folders


def find() -> str:
    """The path of the binary: that in `ASSAY_BINARY`, else that of this Python environment, else
    that on the `PATH`.

    Raises `BinaryNotFoundError` if there is none.
    """
    given = os.environ.get(VARIABLE)
    if given:
        if not os.access(given, os.X_OK) or os.path.isdir(given):
            raise BinaryNotFoundError(f"`{VARIABLE}` is `{given}`, which is not an executable file")
        return given
    for folder in _folders():
        path = folder / "assay"
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("assay")
    if found:
        return found
    raise BinaryNotFoundError(
        "the binary `assay` is not installed: the wheel of this platform contains it, the pure "
        "Python wheel (`…-none-any.whl`) does not; install that wheel, or set "
        f"`{VARIABLE}` to the path of a binary, or use `assay.Client` with the URL of a server"
    )


def environment() -> dict[str, str]:
    """The environment of the binary, which warns of variables that it does not know. Functions
    that run it work on this machine, so `ASSAY_SERVER` is left out."""
    left_out = (VARIABLE, "ASSAY_SERVER")
    return {name: value for name, value in os.environ.items() if name not in left_out}
