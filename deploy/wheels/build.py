#!/usr/bin/env python3
"""Builds the Python packages into a folder: the wheel with the binary and its images, the same
without either, for machines that only call a server, and a wheel for each other image.

usage: start.py build.py [--profile PROFILE] [--images IMAGE,..] [--output FOLDER]

The binary is linked for an old glibc (linker.py), so it runs on every distribution since 2018. With
the profile `dev`, which is the default, only this link is done again after `make build`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import archive
import images

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PROJECT = REPOSITORY / "clients/python"
LINKER = HERE / "linker.py"

sys.path.insert(0, str(REPOSITORY / "sandboxes/guests/toolchain"))

import recipe  # noqa: E402, the modules of the guests' toolchain
import toolchain  # noqa: E402

PLATFORM = "manylinux_2_28"


def run(*command, **options):
    """Runs a command and returns what it prints."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        **options,
    )
    if done.returncode:
        words = " ".join(map(str, command))
        sys.exit(f"build.py: `{words}` failed with status {done.returncode}")
    return done.stdout


def arguments():
    parser = argparse.ArgumentParser(description="Build the Python packages.")
    parser.add_argument("--profile", default="dev", help="cargo profile (default: %(default)s)")
    known = ",".join(images.NAMES)
    parser.add_argument(
        "--images", default=known, help="images to pack, separated by commas (default: all)"
    )
    parser.add_argument("--output", type=Path, default=REPOSITORY / "dist")
    options = parser.parse_args()
    options.images = options.images.split(",")
    for image in options.images:
        if image not in images.NAMES:
            parser.error(f"unknown image `{image}`; the images are {known}")
    return options


def environment():
    """The environment of cargo and of the linker."""
    cache = recipe.default_cache()
    zig = toolchain.install(cache, cache / "downloads")
    return dict(
        os.environ,
        ASSAY_ZIG=str(zig),
        ZIG_GLOBAL_CACHE_DIR=str(cache / "zig/cache"),
        ZIG_LOCAL_CACHE_DIR=str(cache / "zig/cache"),
    )


def build_binary(profile, variables):
    """Builds the binary and returns its path. `maturin` calls cargo with the same arguments, which
    then has nothing to do.
    """
    lines = run(
        "cargo", "rustc", "--profile", profile, "--locked", "--package", "assay", "--bin", "assay",
        "--message-format", "json-render-diagnostics",
        "--", "-C", f"linker={LINKER}", "-C", "strip=symbols",
        cwd=REPOSITORY, env=variables,
    )  # fmt: skip
    messages = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    paths = [message["executable"] for message in messages if message.get("executable")]
    return Path(paths[-1])


# Completion scripts, where shells look for them relative to the prefix of an installation.
COMPLETIONS = {
    "bash": "bash-completion/completions/assay",
    "fish": "fish/vendor_completions.d/assay.fish",
    "zsh": "zsh/site-functions/_assay",
}


def write_shell_files(binary, share):
    """Writes the manual pages and the completion scripts into the folder `share`."""
    run(binary, "man", "--folder", share / "man/man1")
    for shell, name in COMPLETIONS.items():
        path = share / name
        path.parent.mkdir(parents=True)
        path.write_text(run(binary, "completions", shell))


def build_wheel(options, variables):
    """Builds the wheel with the binary and returns its path."""
    staging = options.output / "building"
    shutil.rmtree(staging, ignore_errors=True)
    run(
        Path(sys.executable).with_name("maturin"), "build", "--profile", options.profile,
        "--locked", "--compatibility", PLATFORM, "--auditwheel", "check",
        "--interpreter", sys.executable, "--out", staging,
        "--", "-C", f"linker={LINKER}",
        cwd=PROJECT, env=variables,
    )  # fmt: skip
    (wheel,) = staging.glob("*.whl")
    result = options.output / wheel.name
    os.replace(wheel, result)
    staging.rmdir()
    return result


def main():
    options = arguments()
    options.output = options.output.resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    for old in options.output.glob("assay_rewards*.whl"):
        old.unlink()
    variables = environment()
    binary = build_binary(options.profile, variables)
    packed = {image: images.pack(image, binary, REPOSITORY) for image in options.images}
    data = PROJECT / "data/data" / images.FOLDER
    shutil.rmtree(PROJECT / "data", ignore_errors=True)
    for image in images.IN_MAIN_WHEEL:
        if image in packed:
            shutil.copytree(packed[image], data / image)
    write_shell_files(binary, PROJECT / "data/data/share")
    wheel = build_wheel(options, variables)
    wheels = [wheel, archive.without_binary(wheel)]
    version = archive.version_of(wheel)
    for image, package in images.PACKAGES.items():
        if image in packed:
            license_text = (PROJECT / "LICENSE").read_bytes()
            folder = packed[image]
            wheels.append(
                archive.of_image(options.output, package, version, image, folder, license_text)
            )
    for path in wheels:
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path}")


if __name__ == "__main__":
    main()
