"""Runs the binary for one command: `assay grade` and `assay check`."""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay import _binary
from assay._core import finite
from assay._items import Batch, Options
from assay._log import LOG_LINES, read_log
from assay._options import config_file, database_url
from assay.errors import CommandFailedError, DeadlineExceededError, SplitBatchError
from assay.models import CheckReport
from assay.results import Results

# Characters of standard error in the message of an error.
SHOWN = 2000
# Most items that the program grades as one batch.
MOST_ITEMS = 65_536
# Seconds to wait for the log: a worker of the command could hold its standard error open.
LOG_TIMEOUT = 1.0
# `assay check` ends with 1 if it has findings, and `assay grade` if no item is valid.
FINDINGS = 1


def _run(command: Sequence[str], given: bytes, deadline: float | None) -> tuple[int, bytes, str]:
    """Exit status, standard output and standard error of a command."""
    read, write = os.pipe()
    log: collections.deque[str] = collections.deque(maxlen=LOG_LINES)
    reader = threading.Thread(
        target=read_log, args=(os.fdopen(read, "rb"), log, False), name="assay-log", daemon=True
    )
    reader.start()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=write,
            env=_binary.environment(),
            # An interrupt of a notebook or terminal reaches this process, which ends the command.
            start_new_session=True,
        )
    finally:
        os.close(write)
    with process:
        try:
            output, _ = process.communicate(given, finite(deadline))
        except subprocess.TimeoutExpired:
            process.kill()
            raise DeadlineExceededError(
                f"`assay {command[1]}` did not end within {deadline:g} s"
            ) from None
        except BaseException:
            process.kill()
            raise
    reader.join(LOG_TIMEOUT)
    return process.returncode, output, "\n".join(log)


def _failed(command: Sequence[str], status: int, output: str) -> CommandFailedError:
    shown = output.strip()[-SHOWN:]
    return CommandFailedError(f"`assay {command[1]}` ended with status {status}: {shown}", output)


def _flags(**options: Any) -> list[str]:
    """Options of the command line; those that are `None` are left out."""
    flags: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
            continue
        values = value if isinstance(value, list) else [value]
        for one in values:
            # One word, so that a value can begin with a dash.
            text = json.dumps(one) if isinstance(one, Mapping) else str(one)
            flags.append(f"{flag}={text}")
    return flags


def grade(
    items: Iterable[Mapping[str, Any]],
    *,
    run: str | None = None,
    step: int | None = None,
    policy: str | Mapping[str, Any] | None = None,
    fields: Iterable[str] | None = None,
    database: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    config: str | os.PathLike[str] | None = None,
    deadline: float | None = None,
) -> Results:
    """Grades a batch in a separate process, without a server.

    Each call starts the binary, so `serve` is faster for many calls. `groups`, `channels` and
    statistics are not available. Nothing is recorded unless `database` is given, such as
    `sqlite:///tmp/grades.db`. `jobs` is the number of worker threads, `config` a configuration
    file (by default there is none, and an `assay.toml` in the current folder is not read), and
    `deadline` the seconds after which the call gives up; none by default.
    """
    if database is None and (run is not None or step is not None):
        raise ValueError("`run` and `step` need a record; set `database`")
    if policy is not None and not isinstance(policy, str):
        # The command line takes names only.
        items = [
            item if item.get("policy") is not None else {**item, "policy": policy} for item in items
        ]
    batch = Batch.encode(items, Options.of(run, step, None, (), fields))
    if len(batch) > MOST_ITEMS:
        raise SplitBatchError(
            f"the batch has {len(batch)} items, but at most {MOST_ITEMS} are graded without a "
            "server; send fewer, or use `assay.serve`"
        )
    batch.check_ids()
    command = [_binary.find(), "grade", "-"] + _flags(
        # Groups and estimators see all items, as in one request to a server.
        one_batch=True,
        fields=None if fields is None else ",".join(batch.options.fields or ()),
        policy=policy if isinstance(policy, str) else None,
        run=run,
        step=batch.options.step,
        database=None if database is None else database_url(database),
        jobs=jobs,
        config=config_file(config),
    )
    given = ("\n".join(batch.texts) + "\n").encode("ascii")
    status, output, error = _run(command, given, deadline)
    lines = output.splitlines()
    if status not in (0, FINDINGS) or len(lines) != len(batch):
        raise _failed(command, status, error or f"{len(lines)} results for {len(batch)} items")
    if status == FINDINGS:
        raise _failed(command, status, _NO_ITEM.sub(_no_item, error))
    results = [json.loads(line) for line in lines]
    for position, result in enumerate(results):
        fault = result.get("error")
        if fault is not None:
            fault["message"] = fault["message"].removeprefix(f"line {position + 1}: ")
    return Results(results, [], [], [], [])


# The program counts the lines of its input, which the caller does not see.
_NO_ITEM = re.compile(r"no line of `-` is a valid item; line (\d+): ")


def _no_item(found: re.Match[str]) -> str:
    return f"no item is valid; items[{int(found[1]) - 1}]: "


def check(
    *datasets: str | os.PathLike[str],
    template: str | Mapping[str, Any] | None = None,
    solution: str | None = None,
    sample: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    baseline: str | os.PathLike[str] | None = None,
    ignore: Iterable[str] = (),
    max_findings: int | None = None,
    against: str | os.PathLike[str] | None = None,
    against_template: str | Mapping[str, Any] | None = None,
    rollouts: str | os.PathLike[str] | None = None,
    repeats: int | None = None,
    config: str | os.PathLike[str] | None = None,
    deadline: float | None = None,
) -> CheckReport:
    """Checks datasets with the graders that will grade their rollouts, and returns the report.

    `datasets` are files, or names as `hf://ORG/NAME`; the arguments are the options of `assay
    check`. Findings are in `findings` of the report; they do not raise an error. Without `config`,
    an `assay.toml` in the current folder is not read.
    """
    return run_check(
        datasets,
        template=template,
        solution=solution,
        sample=sample,
        seed=seed,
        jobs=jobs,
        baseline=baseline,
        ignore=list(ignore),
        max_findings=max_findings,
        against=against,
        against_template=against_template,
        rollouts=rollouts,
        repeats=repeats,
        config=config,
        deadline=deadline,
    )


def run_check(
    datasets: Sequence[str | os.PathLike[str]],
    *,
    config: str | os.PathLike[str] | None = None,
    deadline: float | None = None,
    **options: Any,
) -> CheckReport:
    """Runs `assay check`."""
    names = [os.fspath(dataset) for dataset in datasets]
    flags = _flags(format="json", config=config_file(config), **options)
    command = [_binary.find(), "check", *flags, "--", *names]
    status, output, error = _run(command, b"", deadline)
    if status not in (0, FINDINGS) or not output:
        raise _failed(command, status, error)
    return CheckReport(json.loads(output))
