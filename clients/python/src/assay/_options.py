"""The arguments of the clients."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from assay._core import Settings


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


def database_url(database: str | os.PathLike[str]) -> str:
    """The URL of a database that is given as a URL or as the path of a file; empty for none."""
    text = os.fspath(database)
    return text if text == "" or text.startswith("sqlite:") or "://" in text else f"sqlite://{text}"
