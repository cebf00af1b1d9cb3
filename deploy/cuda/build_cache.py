"""A cache of folders, named by the hash of everything that determines their content."""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path


class BuildError(Exception):
    """A step of the build failed. The message names the step, the reason and what to do."""


def progress(line):
    """Prints one line of progress to standard error. Standard output belongs to cargo."""
    print(f"cuda: {line}", file=sys.stderr, flush=True)


def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "assay" / "cuda"


def digest(*parts):
    """Returns one hash of strings and of the contents of files."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        whole.update(hashlib.sha256(content).digest())
    return whole.hexdigest()[:16]


def folder(cache, name, key, fill):
    """Returns the folder `name-key` of the cache, filled by `fill` if it does not exist. The folder
    appears atomically when `fill` has finished.
    """
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
