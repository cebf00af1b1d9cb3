"""The compiler, and a store of its results.

The wheel of `ziglang` contains clang, a linker and the C library of WASI for every host. This file
runs it (with a fixed environment, and without paths of this machine in the output) and owns the
store. The result of a step is stored under the hash of its inputs, so that an interrupted build
continues where it stopped and a changed file only repeats the steps that depend on it.
"""

import concurrent.futures
import hashlib
import json
import os
import shutil
import stat
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple, Tuple

import downloads as fetching
from downloads import say

GUEST = "wasm32-wasi"

# C files that several guests use.
OWN = Path(__file__).resolve().parent / "c"


class Failed(Exception):
    """A step of the build failed. The message contains the output of the tool."""


def install(cache, downloads):
    """Returns the executable of the compiler, which is unpacked from its wheel once."""
    folder = cache / "zig" / fetching.ZIG_WHEELS[fetching.host()][:24]
    if not folder.exists():
        wheel = fetching.fetch_wheel(downloads)
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=folder.parent))
        try:
            say("unpacking the compiler")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(partial)
            executable = partial / "ziglang" / "zig"
            executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
            os.rename(partial, folder)
        except OSError:
            if not folder.exists():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder / "ziglang" / "zig"


class Unit(NamedTuple):
    """A file to compile. `source` is relative to the tree, or to the folder of the guest's own files
    or that of the toolchain.
    """

    source: str
    flags: Tuple[str, ...] = ()
    own: bool = False


class Steps:
    """Runs the steps whose results are not in the store."""

    def __init__(self, store, zig, tree, own, jobs, inputs_of):
        """`inputs_of` returns a hash of everything in the tree on which an object depends."""
        self.store = store
        self.zig = zig
        self.tree = tree
        self.own = own
        self.jobs = jobs
        self.inputs_of = inputs_of
        self.headers = hash_of(*(path.read_bytes() for path in sorted(own.rglob("*.h"))))
        store.mkdir(parents=True, exist_ok=True)
        for abandoned in store.glob("partial-*"):
            abandoned.unlink()

    def environment(self):
        cache = self.zig.parent.parent / "cache"
        return {
            "PATH": os.defpath,
            "LC_ALL": "C",
            "SOURCE_DATE_EPOCH": "0",
            "ZIG_GLOBAL_CACHE_DIR": str(cache),
            "ZIG_LOCAL_CACHE_DIR": str(cache),
        }

    def run(self, command, what):
        done = subprocess.run(
            command,
            cwd=self.tree,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode != 0:
            raise Failed(f"{what} failed:\n{done.stdout.decode('utf-8', 'replace').strip()}")

    def kept(self, key, suffix, make):
        """The stored file for `key`; `make(path)` writes it if there is none."""
        target = self.store / (key + suffix)
        if not target.exists():
            handle, partial = tempfile.mkstemp(prefix="partial-", suffix=suffix, dir=self.store)
            os.close(handle)
            try:
                make(Path(partial))
                os.rename(partial, target)
            finally:
                if os.path.exists(partial):
                    os.unlink(partial)
        return target

    def path_of(self, unit):
        if not unit.own:
            return Path(unit.source)
        own = self.own / unit.source
        return own if own.exists() else OWN / unit.source

    def compile(self, unit, target, flags):
        path = self.path_of(unit)
        content = path.read_bytes() if unit.own else b""
        shared = list(flags) + list(unit.flags)
        inputs = self.inputs_of(unit.source)
        key = hash_of(
            fetching.ZIG, inputs, self.headers, target, json.dumps(shared), unit.source, content
        )
        command = [str(self.zig), "cc", "-target", target, "-c", str(path)] + shared
        command += [f"-I{self.own}", f"-ffile-prefix-map={self.own}=guest"]
        return self.kept(
            key, ".o", lambda out: self.run(command + ["-o", str(out)], f"compiling {unit.source}")
        )

    def compile_all(self, units, target, flags):
        """Compiles `units` concurrently and returns their objects in order."""
        return self.each(lambda unit: self.compile(unit, target, flags), units)

    def each(self, action, items):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            waiting = [pool.submit(action, item) for item in items]
            try:
                return [task.result() for task in waiting]
            except BaseException:
                for task in waiting:
                    task.cancel()
                raise


def hash_of(*parts):
    """One hash of several strings or byte strings, with separated parts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]
