"""Replies that no server of ours sends: an error in time, within bounds, and never a reward."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard
from support import Exchange, FaultProxy, Node, expected_rewards, math_items, memory_mib

import assay
from assay._decoding import DecodeError
from assay._stream import LineReader

ITEMS = [{key: item[key] for key in ("id", "completion", "task")} for item in math_items(2)]
MIB = 1 << 20


def sync_grade(url: str, **options: Any) -> assay.Results:
    with assay.Client(url, **options) as client:
        return client.grade(ITEMS)


def async_grade(url: str, **options: Any) -> assay.Results:
    async def main() -> assay.Results:
        async with assay.AsyncClient(url, **options) as client:
            return await client.grade(ITEMS)

    return asyncio.run(main())


GRADES = pytest.mark.parametrize("grade", [sync_grade, async_grade], ids=["sync", "asyncio"])


@pytest.fixture
def dripping() -> Iterator[Callable[[bytes], str]]:
    """A server that sends a byte of its reply every 50 ms."""
    listeners: list[socket.socket] = []

    def start(reply: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=drip, args=(connection,), daemon=True).start()
            except OSError:
                return

        def drip(connection: socket.socket) -> None:
            with connection:
                try:
                    connection.recv(1 << 16)
                    for byte in reply:
                        connection.sendall(bytes([byte]))
                        time.sleep(0.05)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4000\r\ncontent-encoding: %s\r\n\r\n"


@GRADES
@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\n" + b"x-padding: a\r\n" * 1000,
        HEAD % b"identity" + b" " * 4000,
        HEAD % b"gzip" + gzip.compress(b" " * 4000) + b"\0" * 4000,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"0" * 4000,
    ],
    ids=["headers", "body", "compressed", "chunks"],
)
def test_the_deadline_ends_a_slow_reply(
    dripping: Callable[[bytes], str], grade: Callable[..., assay.Results], reply: bytes
) -> None:
    began = time.monotonic()
    with pytest.raises(assay.DeadlineExceededError):
        grade(dripping(reply), deadline=1.0)
    # The reply takes minutes.
    assert time.monotonic() - began < 10


@GRADES
@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
@pytest.mark.parametrize("status", [200, 500])
def test_replies_have_a_limit(
    node: Node, grade: Callable[..., assay.Results], encoding: str, status: int
) -> None:
    spaces = b" " * (200 * MIB)
    compress = {
        "identity": lambda data: data,
        "gzip": lambda data: gzip.compress(data, 1),
        "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
    }[encoding]
    body = compress(spaces)
    del spaces
    proxy = FaultProxy(
        node.url,
        [lambda exchange: exchange.answer(status, {"content-encoding": encoding}, body)] * 9,
    )
    before = memory_mib()
    with pytest.raises(assay.UnexpectedReplyError):
        grade(proxy.url, deadline=60)
    proxy.close()
    assert memory_mib() - before < 150
    assert proxy.faults == 1


@GRADES
@pytest.mark.parametrize(
    "body",
    [
        b"not JSON",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"results":[{"reward":NaN},{"reward":1}]}',
        b'{"results":[{"reward":"1"},{"reward":1}]}',
        b'{"results":[{"reward":true},{"reward":1}]}',
        b'{"results":[{"reward":1}]}',
    ],
)
def test_a_malformed_reply_never_becomes_a_reward(
    node: Node, grade: Callable[..., assay.Results], body: bytes
) -> None:
    proxy = FaultProxy(node.url, [lambda exchange: exchange.answer(200, {}, body)] * 9)
    with pytest.raises(assay.UnexpectedReplyError):
        grade(proxy.url, deadline=60)
    proxy.close()


END = '{"type":"end","batch":"b","counts":{}}'
GOOD = [f'{{"type":"result","position":{position},"reward":1.0}}' for position in range(2)]


@pytest.mark.parametrize(
    "lines",
    [
        [GOOD[0], '{"type":"result","position":-1,"reward":1.0}', END],
        [GOOD[0], '{"type":"result","position":5,"reward":1.0}', END],
        [GOOD[0], '{"type":"result","position":"1","reward":1.0}', END],
        [GOOD[0], '{"type":"result","position":true,"reward":1.0}', END],
        [GOOD[0], '{"type":"result","position":1,"reward":NaN}', END],
        [GOOD[0], "{}", END],
        [GOOD[0], "1", END],
        [GOOD[0], END],
        [*GOOD],
        [*GOOD, '{"type":"end"}'],
        [*GOOD, END, GOOD[1]],
        ['{"type":"error","error":"x"}'],
    ],
)
def test_a_malformed_stream_is_an_error(node: Node, lines: list[str]) -> None:
    body = "".join(line + "\n" for line in lines).encode()
    proxy = FaultProxy(node.url, [lambda exchange: exchange.answer(200, {}, body)] * 9)
    with assay.Client(proxy.url, deadline=60) as client:
        with pytest.raises(assay.UnexpectedReplyError):
            list(client.grade_stream(ITEMS))
    proxy.close()


def test_a_line_arrives_in_any_pieces() -> None:
    data = "".join(line + "\n" for line in [*GOOD, END]).encode()
    for size in (1, 7, 50, 10_000):
        reader = LineReader()
        read = [
            line
            for first in range(0, len(data), size)
            for line in reader.feed(data[first : first + size])
        ]
        reader.finish()
        assert read == [json.loads(line) for line in [*GOOD, END]]
    with pytest.raises(DecodeError):
        LineReader().finish()


@pytest.mark.parametrize("value", ["secret\n", "secret\r\nx: y", " secret", "sécret", ""])
def test_keys_that_a_header_cannot_have_are_errors_without_the_key(node: Node, value: str) -> None:
    for options in ({"key": value}, {"headers": {"x-key": value}}):
        with pytest.raises(ValueError) as error:
            assay.Client(node.url, **options)  # type: ignore[arg-type]
        assert "secret" not in str(error.value)
    with pytest.raises(ValueError, match="is not a valid header name"):
        assay.Client(node.url, headers={"a b": "c"})


def test_headers_are_sent(node: Node) -> None:
    seen: list[Any] = []

    def note(exchange: Exchange) -> None:
        seen.append({name.lower(): value for name, value in exchange.handler.headers.items()})
        exchange.answer(*exchange.forward())

    proxy = FaultProxy(node.url, [note])
    with assay.Client(proxy.url, key="secret", headers={"x-trainer": "a b"}) as client:
        client.grade(math_items(8))
    proxy.close()
    assert seen[0]["authorization"] == "Bearer secret"
    assert seen[0]["x-trainer"] == "a b"


def test_the_key_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def headers(**options: Any) -> dict[str, str]:
        with assay.Client("http://127.0.0.1:1", **options) as client:
            return dict(client._core.settings.headers)

    monkeypatch.setenv("ASSAY_KEY", "variable")
    assert headers() == {"authorization": "Bearer variable"}
    assert headers(key="given") == {"authorization": "Bearer given"}
    own = {"Authorization": "Basic own"}
    assert headers(headers=own) == own
    monkeypatch.setenv("ASSAY_KEY", "")
    assert headers() == {}


def test_idempotency_keys_are_checked(client: assay.Client) -> None:
    for key in ("a\nb", "", "ä", "a" * 300):
        with pytest.raises(ValueError, match="visible ASCII"):
            client.grade(math_items(8), idempotency_key=key)
    assert client.grade(math_items(8)).rewards() == expected_rewards(8)


@GRADES
def test_an_infinite_deadline_is_none(node: Node, grade: Callable[..., assay.Results]) -> None:
    assert grade(node.url, deadline=math.inf).rewards() == [1.0, 0.0]
    assert grade(node.url, deadline=None).rewards() == [1.0, 0.0]
    assert grade(node.url, deadline=1e300).rewards() == [1.0, 0.0]
    with pytest.raises(ValueError, match="must be a number"):
        grade(node.url, deadline=math.nan)
