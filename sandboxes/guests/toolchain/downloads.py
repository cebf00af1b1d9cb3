"""Downloads for the builds of guests: source archives and the wheel of the compiler.

Archives are downloaded from the Debian mirrors configured on this machine, which keep all sources
of a release for years, from the release pages of their authors, or by cargo from the registry that
it is configured for. Everything is pinned by its sha256. This file also unpacks archives and
applies checked substitutions to their files.
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


class Unavailable(Exception):
    """A download is not available, or does not match its hash."""


def say(line):
    """Prints one line of progress to standard error. Standard output is reserved for the path of
    the result.
    """
    print(f"guest: {line}", file=sys.stderr, flush=True)


class Place(NamedTuple):
    """An address of an archive. `pool/` addresses are relative to a Debian mirror, and
    `crate/NAME/VERSION` is a crate.
    """

    address: str
    sha256: str


class Archive(NamedTuple):
    """An archive. The paths in `used` are unpacked (all if empty), except those in `unused`."""

    folder: str
    places: Tuple[Place, ...]
    unused: Tuple[str, ...] = ()
    used: Tuple[str, ...] = ()


class Substitution(NamedTuple):
    """One change to source files. `old` must occur exactly `times` times in all files that the
    pattern `path` matches.
    """

    path: str
    reason: str
    old: str
    new: str
    times: int = 1


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


def fetch_crate(name, version, target):
    """Copies the archive of a crate, which cargo downloads from the registry that it is configured
    for.
    """
    with tempfile.TemporaryDirectory(prefix="crate-") as folder:
        project = Path(folder)
        (project / "src").mkdir()
        (project / "src" / "lib.rs").touch()
        (project / "Cargo.toml").write_text(
            '[package]\nname = "download"\nversion = "0.0.0"\nedition = "2021"\n'
            f'[dependencies]\n{name} = {{ version = "={version}", default-features = false }}\n'
        )
        done = subprocess.run(
            ["cargo", "fetch", "--quiet"],
            cwd=project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    if done.returncode != 0:
        raise OSError(done.stderr.decode("utf-8", "replace").strip())
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    found = sorted(home.glob(f"registry/cache/*/{name}-{version}.crate"))
    if not found:
        raise OSError(f"cargo has not stored the crate in {home}")
    shutil.copyfile(found[0], target)


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
    if address.startswith("crate/"):
        return fetch_crate(*address.split("/")[1:], target)
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
        f"no source for `{archive.folder}`; put a file with sha256 {wanted} at "
        f"{downloads}/<sha256>\n  "
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
            f"`{change.path}` is not as expected ({change.reason}): {found} matches instead of "
            f"{change.times}; adapt its substitution"
        )


def unpack(tree, archives, substitutions, downloads):
    """Creates the source tree unless it exists, with one folder for each archive."""
    if tree.exists():
        return
    paths = [fetch(archive, downloads) for archive in archives]
    tree.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=tree.parent))
    try:
        for archive, path in zip(archives, paths):
            say(f"unpacking {archive.folder}")
            try:
                extract(archive, path, partial / archive.folder)
            except tarfile.TarError as error:
                raise Unavailable(
                    f"cannot unpack {path}: {error}; this Python may lack its `lzma` or `zlib` "
                    "module"
                ) from error
        for change in substitutions:
            substitute(partial, change)
        os.rename(partial, tree)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


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
            f"the image is built on Linux on {' or '.join(ZIG_WHEELS)}, not on {sys.platform} on "
            f"{machine}"
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
                f"pip could not download ziglang {ZIG}; put its wheel with sha256 {wanted} at "
                f"{kept}, or fix pip:\n{output}"
            )
        if digest_of(wheels[0]) != wanted:
            raise Unavailable(f"pip downloaded a wheel with another hash than sha256 {wanted}")
        os.rename(wheels[0], kept)
    return kept
