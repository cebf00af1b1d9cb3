#!/usr/bin/env python3
"""Sends requests generated from the OpenAPI document to a new server, and compares the replies with
the document.

usage: start.py run.py PATH/TO/assay [--seconds N] [--seed N]

Fails, with a `curl` command that reproduces it, if a reply has a status, media type, header or body
that the document does not declare, if it is a 5xx other than a 503 or 504 with `Retry-After`, or if
the document is not valid OpenAPI 3.1. The same seed sends the same requests in the same order.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

sys.dont_write_bytecode = True

import service  # noqa: E402, a module beside this one

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method,allow_header_conformance,says_when_to_retry,"
    "stream_lines_conform"
)
LONGEST_OUTPUT = 60_000


def validate(document):
    """Exits if the document is not valid OpenAPI 3.1."""
    problems = [
        f"{list(error.path)}: {error.message}"
        for error in OpenAPIV31SpecValidator(document).iter_errors()
    ]
    if problems:
        sys.exit("the document is not valid OpenAPI 3.1:\n" + "\n".join(problems))


def run(url, names, folder, seconds, seed):
    """Runs the test client and returns its exit status and output."""
    hooks = pathlib.Path(__file__).resolve().parent
    # A busy server may return 503 or 504; `says_when_to_retry` checks their `Retry-After`.
    (folder / "schemathesis.toml").write_text(
        '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", 503, 504]\n'
    )
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "run",
        f"{url}/openapi.json",
        "--checks",
        CHECKS,
        "--phases",
        "examples,coverage,fuzzing",
        "--max-time",
        str(seconds),
        "--seed",
        str(seed),
        "--workers",
        "1",
        "--mode",
        "all",
        "--request-timeout",
        "60",
        "--suppress-health-check",
        "all",
        "--generation-database",
        "none",
        "--warnings",
        "off",
        "--no-color",
        "--output-sanitize",
        "false",
    ]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "hooks",
        "PYTHONPATH": str(hooks),
        "ASSAY_NAMES": json.dumps(names),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds + 300,
    )
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    # Leaving the block stops the server. If the server ended before, the run fails with its log.
    with service.serve(os.path.abspath(asked.binary)) as (url, names, folder):
        with urllib.request.urlopen(f"{url}/openapi.json") as reply:
            validate(json.load(reply))
        status, output = run(url, names, folder, asked.seconds, asked.seed)
        print(
            output
            if len(output) <= LONGEST_OUTPUT
            else f"{output[:LONGEST_OUTPUT]}\n… {len(output)} characters in all"
        )
    sys.exit(status)


if __name__ == "__main__":
    main()
