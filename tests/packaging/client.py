#!/usr/bin/env python3
"""Runs the tests of the Python client with the built wheel installed, in an environment outside the
clone that has the pinned packages.

usage: client.py [--heavy] FOLDER [-- ARGUMENTS..]
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import packages

PROJECT = packages.REPOSITORY / "clients/python"

sys.path.insert(0, str(packages.REPOSITORY / "tests/peers"))

import start  # noqa: E402, the environments of test scripts


def main():
    parser = argparse.ArgumentParser(description="Test the Python client as installed.")
    parser.add_argument("folder", type=Path, help="folder with the wheels")
    parser.add_argument("--heavy", action="store_true", help="run the tests with Ray and Spark")
    parser.add_argument("arguments", nargs="*", help="arguments of pytest")
    options = parser.parse_args()
    python = start.environment(PROJECT / "requirements-dev.txt")
    install = [python, "-m", "pip", "install", "--quiet"]
    wheel = packages.platform_wheel(options.folder)
    subprocess.run([*install, "--no-deps", "--force-reinstall", wheel], check=True)
    # Most tests wait for servers and clocks.
    selected = ["-n", "4"]
    if options.heavy:
        heavy = PROJECT / "requirements-heavy.txt"
        subprocess.run([*install, "--requirement", heavy], check=True)
        selected = ["-m", "heavy"]
    variables = {name: value for name, value in os.environ.items() if name != "ASSAY_BINARY"}
    command = [python, "-m", "pytest", "-o", "pythonpath=tests", *selected, *options.arguments]
    sys.exit(subprocess.run(command, cwd=PROJECT, env=variables).returncode)


if __name__ == "__main__":
    main()
