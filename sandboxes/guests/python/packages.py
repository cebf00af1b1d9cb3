"""Python packages in the images: pins, downloads, and the modules to freeze.

Packages come from the package index that pip is configured for, pinned by version and sha256. They
are compiled into an image and never committed. This file owns the pins, the unpacked packages and
the substitutions in them.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
from pathlib import Path
from typing import NamedTuple, Tuple

import sources
import stdlib
from substitutions import Substitution
from toolchain import hash_of


class Package(NamedTuple):
    """A package. `name` is its top-level module, `project` its name in the index."""

    name: str
    project: str
    version: str
    sha256: str
    licence: str
    # Parts of module names that are not frozen: tests, and what needs a file or a compiler.
    unused: Tuple[str, ...] = ()


SORTEDCONTAINERS = Package(
    "sortedcontainers",
    "sortedcontainers",
    "2.4.0",
    "a163dcaede0f1c021485e957a39245190e74249897e2ae4b2aa38595db237ee0",
    "Apache-2.0",
)
MORE_ITERTOOLS = Package(
    "more_itertools",
    "more-itertools",
    "11.2.1",
    "35a7377edd1dd6608dcb2cdf534ded55ea32d49448875ad042cd3f879fb1ded0",
    "MIT",
)
TOOLZ = Package(
    "toolz",
    "toolz",
    "1.2.0",
    "890f820b1cb8152785aaf9386d8707770110809035800985ca65cb24ce1120ef",
    "BSD-3-Clause",
    unused=("tests",),
)
MPMATH = Package(
    "mpmath",
    "mpmath",
    "1.3.0",
    "a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c",
    "BSD-3-Clause",
    unused=("tests",),
)
SYMPY = Package(
    "sympy",
    "sympy",
    "1.14.0",
    "e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5",
    "BSD-3-Clause",
    unused=("tests", "benchmarks", "conftest"),
)
NETWORKX = Package(
    "networkx",
    "networkx",
    "3.6.1",
    "d47fbf302e7d9cbbb9e2555a0d267983d2aa476bac30e90dfbe5669bd57f3762",
    "BSD-3-Clause",
    unused=("tests", "conftest"),
)
NUMPY = Package(
    "numpy",
    "numpy",
    "2.3.5",
    "784db1dcdab56bf0517743e746dfb0f885fc68d948aba86eeec2cba234bdf1c0",
    "BSD-3-Clause",
    unused=(
        "tests",
        "f2py",
        "distutils",
        "_build_utils",
        "code_generators",
        "conftest",
        "_pyinstaller",
        "_configtool",
        "cversions",
        "setup",
        "_examples",
        "lapack_lite",
        "pocketfft",
        "src",
        "include",
    ),
)
REGEX = Package(
    "regex",
    "regex",
    "2026.11.19",
    "2826a006b68acfd3ed5074433caafe21d7f9d026eb82cb856724a4a893a70915",
    "Apache-2.0 AND CNRI-Python",
    unused=("tests",),
)
BITARRAY = Package(
    "bitarray",
    "bitarray",
    "3.12.3",
    "919e35a951c0a551631b94bf568f3f5e38d004e0c60866cb2ca51bd8c4778fec",
    "PSF-2.0",
    unused=("test_bitarray", "test_bitfields", "test_free_threading", "test_util"),
)
# The project `pytest` has three top-level modules.
PYTEST = Package(
    "pytest",
    "pytest",
    "8.3.5",
    "c69214aa47deac29fad6c2a4f590b9c4a9fdb16a403176fe154b79c0b4d4d820",
    "MIT",
)
PLUGGY = Package(
    "pluggy",
    "pluggy",
    "1.7.0",
    "7dd7b0d8832ba3cb632c306926ded123429211b83641b35dc5c41ad2d34f9bec",
    "MIT",
)
PYTEST_PARTS = (
    PLUGGY,
    PYTEST._replace(name="_pytest"),
    PYTEST._replace(name="py"),
    Package(
        "iniconfig",
        "iniconfig",
        "2.3.1",
        "9121e2c1fdb355232495be3194c8dfe87ccc2d5dee45947b78e68f499790d7a7",
        "MIT",
    ),
    Package(
        "packaging",
        "packaging",
        "26.4",
        "81383611a09c1bc0b08b76e0fd5829d7c6824c65b27a6aee339da133f4233ea2",
        "Apache-2.0 OR BSD-2-Clause",
    ),
)
# Compiles the sources of `numpy.random`. It is not part of an image.
CYTHON = Package(
    "Cython",
    "cython",
    "3.3.1",
    "61abc7feedd20dac6c4ff7ab3a30e17136a067b242ab9253e2b4a6d9a72c2b61",
    "Apache-2.0",
)

SUBSTITUTIONS = (
    Substitution(
        "sympy/external/gmpy.py",
        "there is no foreign function interface",
        "from ctypes import c_long, sizeof\n",
        "",
    ),
    Substitution(
        "sympy/external/gmpy.py",
        "the size of `long` on 64-bit Linux",
        "(1 << (8*sizeof(c_long) - 1)) - 1",
        "(1 << 63) - 1",
    ),
    Substitution(
        "pluggy/__init__.py",
        "the image contains no metadata of packages",
        'return version("pluggy")',
        f'return "{PLUGGY.version}"',
    ),
    Substitution(
        "_pytest/capture.py",
        "descriptors cannot be duplicated",
        '        default="fd",\n',
        '        default="sys",\n',
    ),
    Substitution(
        "_pytest/config/__init__.py",
        "it would duplicate a descriptor",
        '    "faulthandler",\n',
        "",
    ),
)

NAMED_CHARACTER = re.compile(r"\\N\{([^}]+)\}")

# Answers pip's questions about a source archive, so that pip only downloads it. Otherwise pip would
# configure and compile the package.
BACKEND = """\
import os


def prepare_metadata_for_build_wheel(folder, settings=None):
    name = "{project}-{version}.dist-info"
    os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, name, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: {project}\\nVersion: {version}\\n")
    return name
"""


def download(package, downloads, options, environment=None):
    """The file of a package, from the cache or downloaded by pip."""
    kept = downloads / package.sha256
    if kept.exists():
        return kept
    downloads.mkdir(parents=True, exist_ok=True)
    named = f"{package.project} {package.version}"
    sources.say(f"fetching {named} with pip")
    with tempfile.TemporaryDirectory(prefix="package-", dir=downloads) as folder:
        pins = Path(folder) / "requirements.txt"
        pins.write_text(f"{package.project}=={package.version} --hash=sha256:{package.sha256}\n")
        target = Path(folder) / "got"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-cache-dir", "--require-hashes", "--dest", str(target)]
        command += [*options, "--requirement", str(pins)]
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        found = list(target.glob("*")) if target.exists() else []
        if done.returncode != 0 or len(found) != 1:
            output = done.stdout.decode("utf-8", "replace").strip()
            raise sources.Unavailable(
                f"pip could not download {named}; put its file with sha256 {package.sha256} "
                f"at {kept}, or fix pip:\n{output}"
            )
        if sources.digest_of(found[0]) != package.sha256:
            raise sources.Unavailable(f"pip downloaded {named} with another hash")
        os.rename(found[0], kept)
    return kept


def fetch_wheel(package, downloads):
    """The wheel of a package that contains only Python code. It is the same for every host."""
    options = ["--only-binary", ":all:", "--implementation", "py", "--abi", "none"]
    options += ["--platform", "any", "--python-version", "3.13"]
    return download(package, downloads, options)


def fetch_source(package, backend, downloads):
    """The source archive of a package whose build backend is the module `backend`."""
    with tempfile.TemporaryDirectory(prefix="backend-") as folder:
        content = BACKEND.format(project=package.project, version=package.version)
        *packages, name = backend.split(".")
        parent = Path(folder, *packages)
        parent.mkdir(parents=True, exist_ok=True)
        if packages:
            (parent / "__init__.py").touch()
        (parent / f"{name}.py").write_text(content)
        options = ["--no-build-isolation", "--no-binary", ":all:"]
        return download(package, downloads, options, {"PYTHONPATH": folder})


def unpack_wheel(package, path, target):
    """Unpacks the modules of a wheel, and the files of its licence."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            parts = member.filename.split("/")
            top = parts[0] in (package.name, f"{package.name}.py")
            kept = top and member.filename.endswith(".py")
            licence = ".dist-info" in parts[0] and "LICENSE" in member.filename.upper()
            if ".." in parts or not (kept or licence):
                continue
            archive.extract(member, target)


def unpack_source(path, target):
    """Unpacks a source archive without its top folder."""
    with tarfile.open(path) as archive:
        for member in archive:
            inside = member.name.split("/", 1)[1] if "/" in member.name else ""
            if not inside or ".." in inside.split("/") or not member.isfile():
                continue
            destination = target / inside
            destination.parent.mkdir(parents=True, exist_ok=True)
            with archive.extractfile(member) as content, open(destination, "wb") as file:
                shutil.copyfileobj(content, file)


def spell_out(path):
    """Replaces named characters with their numbers, because the freezing tool has no table of
    names. Unknown names occur only in raw strings.
    """
    text = path.read_text(encoding="utf-8")
    if "\\N{" in text:
        path.write_text(NAMED_CHARACTER.sub(_numbered, text), encoding="utf-8")


def _numbered(found):
    try:
        return f"\\U{ord(unicodedata.lookup(found[1])):08X}"
    except KeyError:
        return found[0]


def unpack(package, home, downloads):
    """The folder with a package's modules, with substitutions."""
    changes = [change for change in SUBSTITUTIONS if change.path.startswith(f"{package.name}/")]
    folder = home / "source" / f"{package.name}-{hash_of(repr((package, changes)))[:24]}"
    if folder.exists():
        return folder
    wheel = fetch_wheel(package, downloads)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=folder.parent))
    try:
        sources.say(f"unpacking {package.project}")
        unpack_wheel(package, wheel, partial)
        for change in changes:
            sources.substitute(partial, change)
        for path in partial.rglob("*.py"):
            spell_out(path)
        os.rename(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def modules(package, folder):
    """The modules of an unpacked package."""
    if (folder / f"{package.name}.py").exists():
        return [stdlib.Module(folder, folder / f"{package.name}.py")]
    unused = set(package.unused)
    return [
        module
        for module in stdlib.modules_under(folder / package.name, package.name)
        if unused.isdisjoint(module.name.split("."))
    ]
