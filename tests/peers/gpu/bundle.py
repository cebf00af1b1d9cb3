#!/usr/bin/env python3
"""Packs the binaries, the scripts and the reference cases into one archive for a machine with a
GPU: `bundle.py PATH/TO/assay PATH/TO/assay-trainer ARCHIVE.tar.gz`. Prints its size and hash.
"""

import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = ["tests/peers", "graders/reward-model/tests/reference"]
MAX_BYTES = 60 << 20


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    *binaries, archive = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive, "w:gz") as packed:
        for binary in binaries:
            stripped = pathlib.Path(folder) / binary.name
            subprocess.run(["strip", "-o", stripped, binary], check=True)
            packed.add(stripped, f"gpu-proof/bin/{binary.name}")
        for name in FOLDERS:
            packed.add(ROOT / name, f"gpu-proof/{name}", filter=without_caches)
    size = archive.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{archive} has {size} bytes, more than {MAX_BYTES}")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    print(f"{archive}: {size / 2**20:.1f} MiB, sha256 {digest}")
    print("on the machine: tar xzf gpu-proof.tar.gz && python3 gpu-proof/tests/peers/prove.py")


def without_caches(entry):
    return None if "__pycache__" in entry.name else entry


main()
