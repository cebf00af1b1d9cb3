"""The sources of the image: pins, downloads and substitutions.

Archives are downloaded from the Debian mirrors configured on this machine, which keep all sources
of a release for years, or from the release pages of their authors. This file owns the hashes of the
archives, the downloads, the unpacked source tree and the substitutions in it. It compiles nothing.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import NamedTuple, Tuple

from substitutions import LINUX, Substitution


class Unavailable(Exception):
    """A source is not available, or does not match its hash."""


def say(line):
    """Prints one line of progress to standard error. Standard output is reserved for the path of
    the result.
    """
    print(f"python.wasm: {line}", file=sys.stderr, flush=True)


class Place(NamedTuple):
    """An address of an archive. `pool/` addresses are relative to a Debian mirror."""

    address: str
    sha256: str


class Archive(NamedTuple):
    """An archive. The paths in `used` are unpacked (all if empty), except those in `unused`."""

    folder: str
    places: Tuple[Place, ...]
    unused: Tuple[str, ...] = ()
    used: Tuple[str, ...] = ()


PYTHON = "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640"
BZIP2 = "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269"
XZ = "0b54f79df85912504de0b14aec7971e3f964491af1812d83447005807513cd9e"

ARCHIVES = (
    Archive(
        "cpython",
        (
            Place("pool/main/p/python3.13/python3.13_3.13.5.orig.tar.xz", PYTHON),
            Place("https://www.python.org/ftp/python/3.13.5/Python-3.13.5.tar.xz", PYTHON),
        ),
        unused=(
            "Doc",
            "Lib/idlelib",
            "Lib/test",
            "Lib/tkinter",
            "Mac",
            "Misc",
            "PC",
            "PCbuild",
            "Tools",
        ),
    ),
    Archive(
        # Debian's archive lacks parts of contrib/. The files that are compiled here are equal in
        # both.
        "zlib",
        (
            Place(
                "pool/main/z/zlib/zlib_1.3.dfsg+really1.3.1.orig.tar.gz",
                "60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb",
            ),
            Place(
                "https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz",
                "9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23",
            ),
        ),
        unused=("contrib", "doc", "test", "examples"),
    ),
    Archive(
        "bzip2",
        (
            Place("pool/main/b/bzip2/bzip2_1.0.8.orig.tar.gz", BZIP2),
            Place("https://sourceware.org/pub/bzip2/bzip2-1.0.8.tar.gz", BZIP2),
        ),
    ),
    Archive(
        "xz",
        (
            Place("pool/main/x/xz-utils/xz-utils_5.8.1.orig.tar.xz", XZ),
            Place(
                "https://github.com/tukaani-project/xz/releases/download/v5.8.1/xz-5.8.1.tar.xz", XZ
            ),
        ),
        unused=("doc", "po", "po4a", "tests"),
    ),
    Archive(
        # Debian's archive lacks generated files that the release has. The files that are compiled
        # here are equal in both.
        "glibc",
        (
            Place(
                "pool/main/g/glibc/glibc_2.36.orig.tar.xz",
                "a543c02070d46ccaf866957efd13f10c924daa74c86a90a0254db09a92a708ee",
            ),
            Place(
                "https://ftp.gnu.org/gnu/glibc/glibc-2.36.tar.xz",
                "1c959fea240906226062cb4b1e7ebce71a9f0e3c0836c09e7e3423d434fcfe75",
            ),
        ),
        used=("COPYING.LIB", "LICENSES", "sysdeps/ieee754/dbl-64"),
    ),
)


SUBSTITUTIONS = (
    Substitution(
        "cpython/Include/cpython/pystate.h",
        "the wasm limit assumes a small stack; this one has 32 MiB, and programs recurse through `functools.cache`",
        "#  define Py_C_RECURSION_LIMIT 5000\n",
        "#  define Py_C_RECURSION_LIMIT 40000\n",
    ),
    Substitution(
        "cpython/Lib/asyncio/selector_events.py",
        "WASI has no socket pair; with one thread nothing else could wake the loop",
        "        self._ssock, self._csock = socket.socketpair()\n"
        "        self._ssock.setblocking(False)\n"
        "        self._csock.setblocking(False)\n"
        "        self._internal_fds += 1\n"
        "        self._add_reader(self._ssock.fileno(), self._read_from_self)\n",
        "        self._ssock = self._csock = None\n",
    ),
    Substitution(
        "cpython/Lib/asyncio/selector_events.py",
        "the other half of it",
        "        self._remove_reader(self._ssock.fileno())\n"
        "        self._ssock.close()\n"
        "        self._ssock = None\n"
        "        self._csock.close()\n"
        "        self._csock = None\n"
        "        self._internal_fds -= 1\n",
        "        pass\n",
    ),
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/s_log1p.c",
        "GCC moves this product out of both branches, to a place where no addition follows that it could be fused with",
        "  if (k == 0)\n    return f - (hfsq - s * (hfsq + R));\n",
        "  R = s * (hfsq + R);\n  if (k == 0)\n    return f - (hfsq - R);\n",
    ),
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/s_log1p.c",
        "the other branch",
        "((hfsq - (s * (hfsq + R) + (k * ln2_lo + c))) - f)",
        "((hfsq - (R + (k * ln2_lo + c))) - f)",
    ),
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/e_asin.c",
        "as in `s_log1p.c`",
        "    if (m<0) {\n      cor = (hp1.x - cc)-(y+cc)*p;\n",
        "    p=(y+cc)*p;\n    if (m<0) {\n      cor = (hp1.x - cc)-p;\n",
    ),
    Substitution(
        "glibc/sysdeps/ieee754/dbl-64/e_asin.c",
        "the other branch",
        "      cor = cc+p*(y+cc);\n",
        "      cor = cc+p;\n",
    ),
) + LINUX


def digest_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def mirrors():
    """Base addresses of the configured Debian mirrors. Empty on other systems."""
    try:
        done = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return []
    found = done.stdout.decode("utf-8", "replace").split()
    return sorted(
        {base.rstrip("/") + "/" for base in found if base.startswith(("http://", "https://"))}
    )


def addresses(place, bases):
    if place.address.startswith("pool/"):
        return [base + place.address for base in bases]
    return [place.address]


def without_password(address):
    """The address without a password, for printing: addresses of private mirrors may contain
    one.
    """
    parts = urllib.parse.urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def download(address, target):
    with urllib.request.urlopen(address, timeout=60) as reply, open(target, "wb") as file:
        shutil.copyfileobj(reply, file, 1 << 20)


def fetch(archive, downloads):
    """The file of the archive, from the cache or from the first address that has it."""
    for place in archive.places:
        kept = downloads / place.sha256
        if kept.exists():
            return kept
    downloads.mkdir(parents=True, exist_ok=True)
    bases = mirrors()
    tried = []
    for place in archive.places:
        for address in addresses(place, bases):
            shown = without_password(address)
            say(f"fetching {shown}")
            handle, partial = tempfile.mkstemp(dir=downloads)
            os.close(handle)
            try:
                download(address, partial)
                found = digest_of(partial)
                if found == place.sha256:
                    os.rename(partial, downloads / place.sha256)
                    return downloads / place.sha256
                tried.append(f"{shown}: its sha256 is {found}")
            except (OSError, urllib.error.URLError) as error:
                tried.append(f"{shown}: {error}")
            finally:
                if os.path.exists(partial):
                    os.unlink(partial)
    wanted = " or ".join(sorted({place.sha256 for place in archive.places}))
    raise Unavailable(
        f"no source for `{archive.folder}`; put a file with sha256 {wanted} at {downloads}/<sha256>\n  "
        + "\n  ".join(tried)
    )


def within(path, folders):
    return any(path == name or path.startswith(name + "/") for name in folders)


def extract(archive, path, target):
    """Unpacks the used files, without the top folder of the archive."""
    with tarfile.open(path) as tar:
        for member in tar:
            inside = member.name.split("/", 1)[1] if "/" in member.name else ""
            skipped = within(inside, archive.unused) or bool(
                archive.used and not within(inside, archive.used)
            )
            if (
                not inside
                or skipped
                or ".." in inside.split("/")
                or not (member.isfile() or member.isdir())
            ):
                continue
            destination = target / inside
            if member.isdir():
                destination.mkdir(parents=True, exist_ok=True)
                continue
            destination.parent.mkdir(parents=True, exist_ok=True)
            with tar.extractfile(member) as content, open(destination, "wb") as file:
                shutil.copyfileobj(content, file)


def substitute(tree, change):
    """Applies one change to the files that its pattern matches."""
    found = 0
    for path in sorted(tree.glob(change.path)):
        text = path.read_text(encoding="utf-8")
        if change.old in text:
            found += text.count(change.old)
            path.write_text(text.replace(change.old, change.new), encoding="utf-8")
    if found != change.times:
        raise Unavailable(
            f"`{change.path}` is not as expected ({change.reason}): {found} matches instead of {change.times}; adapt its substitution"
        )


def inputs_of(source):
    """Hash of everything in the tree on which an object depends: the archives, and changes of
    headers and of its own C file. Changes of other C files and of Python files do not affect it.
    """
    changes = [
        change
        for change in SUBSTITUTIONS
        if change.path == source or not change.path.endswith((".c", ".py"))
    ]
    return hashlib.sha256(repr((ARCHIVES, changes)).encode()).hexdigest()[:24]


def tree_hash():
    """Hash of the unpacked tree: the hashes of the archives and the substitutions."""
    return hashlib.sha256(repr((ARCHIVES, SUBSTITUTIONS)).encode()).hexdigest()[:24]


def unpack(home, downloads):
    """Returns the source tree, with one folder for each archive."""
    tree = home / "source" / tree_hash()
    if tree.exists():
        return tree
    paths = [fetch(archive, downloads) for archive in ARCHIVES]
    tree.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=tree.parent))
    try:
        for archive, path in zip(ARCHIVES, paths):
            say(f"unpacking {archive.folder}")
            try:
                extract(archive, path, partial / archive.folder)
            except tarfile.TarError as error:
                raise Unavailable(
                    f"cannot unpack {path}: {error}; this Python may lack its `lzma` or `zlib` module"
                ) from error
        for change in SUBSTITUTIONS:
            substitute(partial, change)
        os.rename(partial, tree)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return tree


ZIG = "0.17.0"
ZIG_WHEELS = {
    "x86_64": "97079827064a7492cce5541ceb438ae8003ce1e54e399676da2d62fb7a5dc08b",
    "aarch64": "d2804f94f54f7fcf8169f4b212a619ad688a4e2e6592e976f0cf2e58e2cd8af3",
}


def host():
    """The architecture of this machine, which must be supported by the compiler's wheel."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    if sys.platform != "linux" or machine not in ZIG_WHEELS:
        raise Unavailable(
            f"the image is built on Linux on {' or '.join(ZIG_WHEELS)}, not on {sys.platform} on {machine}"
        )
    return machine


def fetch_wheel(downloads):
    """Downloads the compiler's wheel from the package index that pip is configured for."""
    wanted = ZIG_WHEELS[host()]
    kept = downloads / wanted
    if kept.exists():
        return kept
    downloads.mkdir(parents=True, exist_ok=True)
    say(f"fetching ziglang {ZIG} with pip")
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=downloads) as folder:
        pins = Path(folder) / "requirements.txt"
        pins.write_text(f"ziglang=={ZIG} --hash=sha256:{wanted}\n")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-cache-dir",
            "--require-hashes",
        ]
        command += ["--only-binary", ":all:", "--dest", folder, "--requirement", str(pins)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            output = done.stdout.decode("utf-8", "replace").strip()
            raise Unavailable(
                f"pip could not download ziglang {ZIG}; put its wheel with sha256 {wanted} at {kept}, or fix pip:\n{output}"
            )
        if digest_of(wheels[0]) != wanted:
            raise Unavailable(f"pip downloaded a wheel with another hash than sha256 {wanted}")
        os.rename(wheels[0], kept)
    return kept
