#!/usr/bin/env python3
"""Installs the built wheel into root file systems of Debian 11 (glibc 2.31, Python 3.9) and
Debian 13 (glibc 2.41, Python 3.13) that contain only Python, and grades there.

usage: roots.py [FOLDER]

Needs root and `debootstrap`. The root file systems are kept in the cache; each run works on a copy
in memory that ends with it. Dependencies of the wheel are downloaded beforehand, so that the times
do not depend on a registry.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import packages

HERE = Path(__file__).resolve().parent
SUITES = {"bullseye": "3.9", "trixie": "3.13"}

# Dependencies that only old versions of Python need. `pip download` decides by its own version.
FOR_OLD_PYTHON = ("exceptiongroup", "typing_extensions")

# Runs in a new mount namespace, so that nothing remains mounted. `$1` is the root file system, `$2`
# a folder with the wheels and scripts, `$3` an empty folder.
MOUNT = """
set -eu
mount -t tmpfs -o size=2g none "$3"
mkdir "$3/upper" "$3/work" "$3/root"
mount -t overlay -o "lowerdir=$1,upperdir=$3/upper,workdir=$3/work" none "$3/root"
mount -t proc none "$3/root/proc"
mount --rbind /dev "$3/root/dev"
mkdir "$3/root/packages"
mount --bind "$2" "$3/root/packages"
exec env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin HOME=/root LANG=C.UTF-8 \\
    chroot "$3/root" sh -eu /packages/steps.sh
"""

# The steps of a user, with their times.
STEPS = r"""
seconds() { python3 -c 'import time; print(time.monotonic())'; }
timed() {
    name=$1; shift
    started=$(seconds)
    "$@" || exit 1
    python3 -c "print(f'{\"$name\"}: {$(seconds) - $started:.1f} s', flush=True)"
}
echo "Debian $(cat /etc/debian_version), $(ldd --version | head -1), $(python3 --version)"
python3 -m venv /venv
timed "pip install" /venv/bin/pip install --quiet --no-index --find-links /packages/dependencies \
    /packages/dist/*.whl
cd /root
/venv/bin/python /packages/first_reward.py
/venv/bin/python /packages/first_reward.py
timed "assay doctor" /venv/bin/assay doctor
/venv/bin/assay images
"""


def require_root():
    if os.geteuid() or not shutil.which("debootstrap"):
        sys.exit("run this as root, with `debootstrap` installed (`apt-get install debootstrap`)")


def root_of(suite):
    """A root file system of this release with Python, which is made once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay/roots"
    root = cache / suite
    if root.exists():
        return root
    cache.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f"{suite}.part", dir=cache))
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    mirrors = subprocess.run(
        targets, check=True, stdout=subprocess.PIPE, universal_newlines=True
    ).stdout.split()
    mirror = next(uri for uri in mirrors if uri.rstrip("/").endswith("/debian"))
    print(f"installing {suite} into {root}", flush=True)
    included = "--include=python3,python3-venv,ca-certificates"
    command = ["debootstrap", "--variant=minbase", included, suite, partial, mirror]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    partial.chmod(0o755)
    partial.rename(root)
    return root


def download(wheel, version, folder):
    """Downloads the dependencies of a wheel for a version of Python."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder]
    command += ["--only-binary=:all:", "--python-version", version]
    command += ["--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_17_x86_64"]
    command += [wheel, *FOR_OLD_PYTHON]
    subprocess.run(command, check=True)


def main():
    dist = sys.argv[1] if sys.argv[1:] else packages.REPOSITORY / "dist"
    wheel = packages.platform_wheel(dist)
    require_root()
    for suite, version in SUITES.items():
        root = root_of(suite)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for name in ("dist", "dependencies"):
                (folder / name).mkdir()
            shutil.copy(wheel, folder / "dist")
            shutil.copy(HERE / "first_reward.py", folder)
            (folder / "steps.sh").write_text(STEPS)
            download(wheel, version, folder / "dependencies")
            (folder / "dependencies" / wheel.name).unlink()
            with tempfile.TemporaryDirectory() as mounted:
                command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT]
                started = time.monotonic()
                ran = subprocess.run([*command, "sh", root, folder, mounted])
                if ran.returncode:
                    sys.exit(f"roots.py: {suite} failed with status {ran.returncode}")
                print(f"{suite}: {time.monotonic() - started:.1f} s in total\n", flush=True)


if __name__ == "__main__":
    main()
