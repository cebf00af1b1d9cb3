#!/usr/bin/env python3
"""Packs the binaries, the scripts and the reference cases into one archive for a machine with a
GPU: `bundle.py PATH/TO/assay PATH/TO/assay-trainer ARCHIVE.tar.gz`. Prints its size and hash.
"""

import gzip
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
    with tempfile.TemporaryDirectory() as folder, archive.open("wb") as file:
        # The same files make the same archive, whenever it is packed.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            with tarfile.open(fileobj=packed, mode="w") as files:
                for binary in binaries:
                    stripped = pathlib.Path(folder) / binary.name
                    subprocess.run(["strip", "-o", stripped, binary], check=True)
                    files.add(stripped, f"gpu-proof/bin/{binary.name}", filter=plain)
                for name in FOLDERS:
                    files.add(ROOT / name, f"gpu-proof/{name}", filter=plain)
    size = archive.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{archive} has {size} bytes, more than {MAX_BYTES}")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    print(f"{archive}: {size / 2**20:.1f} MiB, sha256 {digest}")
    print("on the machine: tar xzf gpu-proof.tar.gz && python3 gpu-proof/tests/peers/prove.py")


def plain(entry):
    """The entry without caches, owner and time."""
    if "__pycache__" in entry.name:
        return None
    return entry.replace(mtime=0, uid=0, gid=0, uname="", gname="", deep=False)


main()
