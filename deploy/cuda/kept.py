"""Folders that are made once and kept: beside the target folder, under the hash of all that went into them."""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path


class Failed(Exception):
    """A step of the build failed; the text says which, why, and what to do."""


def say(line):
    """One line of progress; standard output is cargo's."""
    print(f"cuda: {line}", file=sys.stderr, flush=True)


def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "assay" / "cuda"


def digest(*parts):
    """One hash of texts and of files' contents."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        whole.update(hashlib.sha256(content).digest())
    return whole.hexdigest()[:16]


def folder(cache, name, key, fill):
    """The folder `name-key` of the cache, which `fill` is given once to fill; it appears only when that is done."""
    result = cache / f"{name}-{key}"
    if result.exists():
        return result
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            partial = Path(tempfile.mkdtemp(prefix=f"making-{name}-", dir=cache))
            try:
                fill(partial)
                os.rename(partial, result)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return result
