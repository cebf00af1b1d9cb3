"""The arguments of the clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay._core import Settings


def settings(
    urls: str | Iterable[str],
    *,
    key: str | None,
    headers: Mapping[str, str] | None,
    deadline: float | None,
    patience: float,
    connections: int,
    chunk_items: int,
    chunk_bytes: int,
    compress_above: int | None,
) -> Settings:
    """The settings that the arguments of a client mean."""
    given = dict(headers or {})
    if key is not None:
        given["authorization"] = f"Bearer {key}"
    return Settings(
        urls=(urls,) if isinstance(urls, str) else tuple(urls),
        headers=given,
        deadline=deadline,
        patience=patience,
        connections=connections,
        chunk_items=chunk_items,
        chunk_bytes=chunk_bytes,
        compress_above=compress_above,
    )
