#!/usr/bin/env python3
"""Runs the tests of the adapters for trainers with the built wheel and the trainers installed, in an
environment outside the clone that has the pinned packages. Prints the versions, and what ran.

usage: trainers.py FOLDER [-- ARGUMENTS..]
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import packages

PROJECT = packages.REPOSITORY / "clients/python"
TRAINERS = PROJECT / "tests/trainers"

sys.path.insert(0, str(packages.REPOSITORY / "tests/peers"))

import start  # noqa: E402, the environments of test scripts

SHOWN = [
    "trl", "verl", "openrlhf", "verifiers", "skyrl-gym", "areal", "tinker-cookbook", "openreward",
    "openenv", "e2b-code-interpreter", "smolagents",
    "atroposlib", "nemo-gym",
    "torch", "transformers", "ray",
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Test the adapters with their trainers.")
    parser.add_argument("folder", type=Path, help="folder with the wheels")
    parser.add_argument("arguments", nargs="*", help="arguments of pytest")
    options = parser.parse_args()
    peers = start.environment(packages.REPOSITORY / "tests/peers/requirements.txt")
    python = start.environment(TRAINERS / "requirements.txt", shared=peers)
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps"]
    # NeMo Gym requires Python 3.12, but what the tests use works with 3.11.
    alone = ["--ignore-requires-python", "--requirement", TRAINERS / "requirements-alone.txt"]
    subprocess.run([*install, *alone], check=True)
    wheel = packages.platform_wheel(options.folder)
    subprocess.run([*install, "--force-reinstall", wheel], check=True)
    versions = "import sys; from importlib.metadata import version\nfor name in sys.argv[1:]: " + (
        "print(f'{name} {version(name)}')"
    )
    subprocess.run([python, "-c", versions, *SHOWN], check=True)
    variables = {name: value for name, value in os.environ.items() if name != "ASSAY_BINARY"}
    command = [
        python, "-m", "pytest", "tests/trainers", "-W", "ignore", "-v",
        "-o", "pythonpath=tests tests/trainers", *options.arguments,
    ]  # fmt: skip
    sys.exit(subprocess.run(command, cwd=PROJECT, env=variables).returncode)


if __name__ == "__main__":
    main()
