"""The built packages, and how they are installed."""

import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def wheel(folder, pattern):
    """The only wheel in a folder that matches a pattern."""
    found = sorted(Path(folder).glob(pattern))
    if len(found) != 1:
        sys.exit(f"{len(found)} wheels in `{folder}` match `{pattern}`; run `make wheel`")
    return found[0].resolve()


def platform_wheel(folder):
    return wheel(folder, "assay_rewards-*-manylinux*.whl")


def pure_wheel(folder):
    return wheel(folder, "assay_rewards-*-py3-none-any.whl")


def environment(folder, *wheels):
    """Installs wheels into a new virtual environment and returns its folder of executables."""
    venv.create(folder, with_pip=True)
    executables = Path(folder) / "bin"
    command = [executables / "python", "-m", "pip", "install", "--quiet", *wheels]
    subprocess.run(command, check=True)
    return executables
