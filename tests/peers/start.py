#!/usr/bin/env python3
"""Runs a script with a Python that has the packages pinned in the `requirements.txt` next to the
script.

usage: start.py SCRIPT [--python PYTHON] [ARGUMENTS..]

Without `--python`, a virtual environment outside the clone, named after the script's folder, is
created or updated, and used.
"""

import os
import pathlib
import subprocess
import sys
import venv


def environment(pinned, shared=None):
    """The interpreter of an environment with the pinned packages, and with those of the environment
    `shared`, which are large.
    """
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "assay" / pinned.parent.name
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text() != pinned.read_text():
        print(f"installing what {pinned} pins into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        if shared is not None:
            purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
            found, own = (
                subprocess.run([one, "-c", purelib], check=True, capture_output=True, text=True)
                for one in (shared, python)
            )
            (pathlib.Path(own.stdout.strip()) / "shared.pth").write_text(found.stdout)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--requirement", pinned], check=True
        )
        installed.write_text(pinned.read_text())
    return str(python)


def main():
    script, *rest = sys.argv[1:] or sys.exit(__doc__)
    python = None
    if "--python" in rest:
        at = rest.index("--python")
        python = rest[at + 1] if at + 1 < len(rest) else sys.exit("`--python` needs a path")
        rest = rest[:at] + rest[at + 2 :]
    python = python or environment(pathlib.Path(script).resolve().with_name("requirements.txt"))
    os.execv(python, [python, script, *rest])


if __name__ == "__main__":
    main()
