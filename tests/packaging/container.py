#!/usr/bin/env python3
"""Runs the steps of the container image without a container engine: installs the wheels by
`deploy/docker/install.sh` into a root file system of Debian 13, starts the service as another user
with a read-only root, and grades programs.

usage: container.py [FOLDER]

Needs root and `debootstrap`.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import packages
import roots

INSTALL = packages.REPOSITORY / "deploy/docker/install.sh"
USER = 65532

# The stages of the Dockerfile. `$1` is the root file system, `$2` the wheels and scripts, `$3` an
# empty folder, `$4` the address to listen on.
STAGES = """
set -eu
mount -t tmpfs -o size=3g none "$3"
mkdir "$3/upper" "$3/work" "$3/root"
mount -t overlay -o "lowerdir=$1,upperdir=$3/upper,workdir=$3/work" none "$3/root"
root=$3/root
mkdir -p "$root/packages" "$root/data"
mount --bind "$2" "$root/packages"
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
PATH=/usr/bin:/bin:/usr/sbin
env -i PATH="$PATH" chroot "$root" sh /packages/install.sh /packages /opt/assay
mount -t tmpfs -o size=256m none "$root/data"
chown USER:USER "$root/data"
mount -o remount,ro none "$root"
exec env -i PATH="/opt/assay/bin:$PATH" ASSAY_SANDBOX_WORKERS_IMAGES=/opt/assay/images \\
    ASSAY_SERVER_LISTEN="$4" ASSAY_STORE_DATABASE=sqlite:///data/assay.db \\
    chroot --userspec=USER:USER "$root" assay serve
""".replace("USER", str(USER))

PROGRAMS = {
    "python": "print(sum(map(int, input().split())))",
    "javascript": "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n"
    "console.log(a + b)",
}


def items():
    for language, program in PROGRAMS.items():
        yield {
            "completion": f"```{language}\n{program}\n```",
            "task": {
                "type": "code",
                "language": language,
                "tests": [{"stdin": "1 2", "stdout": "3"}],
            },
        }


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "{}:{}".format(*probe.getsockname())


def wait_until_ready(url, process, seconds=300):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"container.py: the service ended with status {process.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit(f"container.py: the service was not ready after {seconds} s")


def check(url, folder):
    body = json.dumps({"items": list(items())}).encode()
    request = urllib.request.Request(f"{url}/v1/grade", body)
    with urllib.request.urlopen(request, timeout=60) as reply:
        results = json.load(reply)["results"]
    found = [(result["reward"], result["recorded"]) for result in results]
    if found != [(1.0, True)] * len(PROGRAMS):
        sys.exit(f"container.py: unexpected results: {json.dumps(results)}")
    return found


def main():
    dist = Path(sys.argv[1] if sys.argv[1:] else packages.REPOSITORY / "dist")
    packages.platform_wheel(dist)
    roots.require_root()
    root = roots.root_of("trixie")
    address = free_address()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as mounted:
        for wheel in dist.glob("*.whl"):
            shutil.copy(wheel, folder)
        shutil.copy(INSTALL, folder)
        os.chmod(folder, 0o755)
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", STAGES]
        started = time.monotonic()
        process = subprocess.Popen([*command, "sh", root, folder, mounted, address])
        try:
            wait_until_ready(f"http://{address}", process)
            print(f"installed, compiled and ready: {time.monotonic() - started:.1f} s", flush=True)
            print(f"rewards and records: {check(f'http://{address}', folder)}", flush=True)
            with open(f"/proc/{process.pid}/status") as status:
                user = next(line.split()[1] for line in status if line.startswith("Uid:"))
            if user != str(USER):
                sys.exit(f"container.py: the service runs as user {user}")
        finally:
            process.terminate()
            process.wait(60)
    if process.returncode:
        sys.exit(f"container.py: the service ended with status {process.returncode}")
    print(f"it ran as user {USER} with a read-only root file system")


if __name__ == "__main__":
    main()
