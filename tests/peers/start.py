#!/usr/bin/env python3
"""Start a comparison with another implementation under a Python that has it.

usage: start.py SCRIPT [--python PYTHON] [ARGUMENTS..]

Without `--python`, an environment outside the clone is made, or brought to what `requirements.txt` pins, and used.
"""
import os
import pathlib
import subprocess
import sys
import venv

PINNED = pathlib.Path(__file__).with_name("requirements.txt")


def environment():
    """The interpreter of an environment that has what is pinned."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "assay" / "peers"
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text() != PINNED.read_text():
        print(f"installing what {PINNED.name} pins into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", PINNED], check=True)
        installed.write_text(PINNED.read_text())
    return str(python)


def main():
    script, *rest = sys.argv[1:] or sys.exit(__doc__)
    python = None
    if "--python" in rest:
        at = rest.index("--python")
        python = rest[at + 1] if at + 1 < len(rest) else sys.exit("`--python` needs a path")
        rest = rest[:at] + rest[at + 2 :]
    python = python or environment()
    os.execv(python, [python, script, *rest])


if __name__ == "__main__":
    main()
