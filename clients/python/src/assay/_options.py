"""The arguments of the clients."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable, Mapping

from assay._core import Settings

KEY_VARIABLE = "ASSAY_KEY"


def settings(
    urls: str | Iterable[str],
    *,
    key: str | None,
    headers: Mapping[str, str] | None,
    deadline: float | None,
    server_timeout: float,
    connections: int,
    chunk_items: int,
    chunk_bytes: int,
    compress_above: int | None,
) -> Settings:
    """The settings for the arguments of a client."""
    given = dict(headers or {})
    for name, value in given.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ValueError(f"{name!r} is not a valid header name")
        check_value(f"the header `{name}`", value)
    has_credentials = any(name.lower() == "authorization" for name in given)
    if key is None and not has_credentials:
        key = os.environ.get(KEY_VARIABLE) or None
    if key is not None:
        check_value("`key`", key)
        given["authorization"] = f"Bearer {key}"
    return Settings(
        urls=(urls,) if isinstance(urls, str) else tuple(urls),
        headers=given,
        deadline=deadline,
        server_timeout=server_timeout,
        connections=connections,
        chunk_items=chunk_items,
        chunk_bytes=chunk_bytes,
        compress_above=compress_above,
    )


def check_value(what: str, value: str) -> None:
    """Checks a value of a header. It may be a secret, so the message does not contain it."""
    if not re.fullmatch(r"[!-~]([ -~\t]*[!-~])?", value):
        raise ValueError(
            f"{what} has a line break, a space at either end, or characters other than ASCII"
        )


def config_file(config: str | os.PathLike[str] | None) -> str:
    """The configuration file of a command. By default it is empty, because the binary would
    otherwise read any `assay.toml` in the current folder."""
    return os.devnull if config is None else os.fspath(config)


def checked_port(port: int | None) -> int:
    """The port of a private node; 0 for a free one."""
    if isinstance(port, bool):
        raise TypeError(f"`port` is {port}; pass a number, or `None` for a free port")
    number = 0 if port is None else operator.index(port)
    if not 0 <= number <= 65535:
        raise ValueError(f"`port` is {number}; it must be at most 65535, or `None` for a free port")
    return number


def database_url(database: str | os.PathLike[str]) -> str:
    """The URL of a database that is given as a URL or as the path of a file; empty for none."""
    text = os.fspath(database)
    return text if text == "" or text.startswith("sqlite:") or "://" in text else f"sqlite://{text}"
