"""Builds of guests: arguments, the folder and the lock of the cache, and the hash of a recipe."""

import argparse
import contextlib
import fcntl
import hashlib
import os
from pathlib import Path

from downloads import say

HERE = Path(__file__).resolve().parent

# Files that can affect an image.
SUFFIXES = (".py", ".c", ".cpp", ".h", ".hpp", ".js", ".s")


def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "assay" / "guests"


def arguments(description, images):
    """The arguments of a build. The first image is the default."""
    parser = argparse.ArgumentParser(description=description)
    image_help = "the image to build (default: %(default)s)"
    parser.add_argument("--image", choices=images, default=images[0], help=image_help)
    cache_help = "folder for downloads and results (default: %(default)s)"
    parser.add_argument("--cache", type=Path, default=default_cache(), help=cache_help)
    jobs_help = "number of concurrent compilers (default: %(default)s)"
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help=jobs_help)
    return parser.parse_args()


def files_of(folder):
    """All files of a folder that can affect the image, in a fixed order."""
    chosen = [
        path
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts
    ]
    return sorted(chosen, key=lambda path: path.relative_to(folder).as_posix())


def hash_of_folders(own):
    """Hash of the guest's own folder and of the toolchain."""
    digest = hashlib.sha256()
    for folder in (own, HERE):
        for path in files_of(folder):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            name = path.relative_to(folder.parent).as_posix()
            digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()[:24]


@contextlib.contextmanager
def locked(folder):
    """Holds the lock of the folder. A concurrent build waits here."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("waiting for another build of this image")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
