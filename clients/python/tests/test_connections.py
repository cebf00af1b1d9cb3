"""Connections of both clients: encryption, cancellation and servers that close them."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import httpcore
import pytest
import trustme
import uvloop
from support import FaultProxy, Node, expected_rewards, math_items

import assay
from assay import _http, _streams


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def event_loops(request: pytest.FixtureRequest) -> Iterator[None]:
    """Many trainers and servers of models run uvloop."""
    if request.param == "uvloop":
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    yield
    asyncio.set_event_loop_policy(None)


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never answers."""
    accepted: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                accepted.append(listener.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for one in accepted:
        one.close()


def test_a_cancelled_request_ends_at_once_and_leaves_no_connection(silent: int) -> None:
    async def cancelled_after(steps: int) -> bool:
        client = _http.async_client({}, None)
        request = asyncio.ensure_future(client.get(f"http://127.0.0.1:{silent}/", timeout=30))
        for _ in range(steps):
            await asyncio.sleep(0)
        request.cancel()
        done, _ = await asyncio.wait([request], timeout=5)
        await client.aclose()
        return bool(done) and request.cancelled()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for steps in range(30):
            assert asyncio.run(cancelled_after(steps)), steps
            gc.collect()
            assert [str(warning.message) for warning in caught] == [], steps


def test_a_connection_that_does_not_open_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        others = [socket.socket() for _ in range(4)]
        for other in others:
            other.setblocking(False)
            other.connect_ex(("127.0.0.1", port))
        # The queue of the listener is full, so nobody answers.
        with pytest.raises(httpcore.ConnectTimeout):
            asyncio.run(_streams.Backend().connect_tcp("127.0.0.1", port, timeout=0.1))
        for other in others:
            other.close()


def test_a_refused_connection_is_an_error_that_has_not_sent_anything() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(httpcore.ConnectError, match="refused|Connect call failed"):
            asyncio.run(_streams.Backend().connect_tcp("127.0.0.1", unused.getsockname()[1]))


@pytest.fixture
def encrypted(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[FaultProxy, Path]]:
    """A proxy with encryption, and the file of the authority that its certificate is from."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    proxy = FaultProxy(node.url, [], tls=context)
    yield proxy, file
    proxy.close()


async def grade_async(url: str, count: int) -> list[float]:
    async with assay.AsyncClient(url, server_timeout=0, chunk_items=count // 2) as client:
        return (await client.grade(math_items(count))).rewards()


def test_encrypted_connections(
    encrypted: tuple[FaultProxy, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, file = encrypted
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with assay.Client(proxy.url) as client:
        assert client.grade(math_items(64)).rewards() == expected_rewards(64)
    assert asyncio.run(grade_async(proxy.url, 64)) == expected_rewards(64)
    assert proxy.requests == 3


def test_a_certificate_of_an_unknown_authority_is_an_error(
    encrypted: tuple[FaultProxy, Path],
) -> None:
    proxy, _ = encrypted
    with assay.Client(proxy.url, server_timeout=0) as client:
        with pytest.raises(assay.ServerUnavailableError, match="certificate verify failed"):
            client.grade(math_items(8))
    with pytest.raises(assay.ServerUnavailableError, match="certificate verify failed"):
        asyncio.run(grade_async(proxy.url, 8))
    assert proxy.requests == 0


def test_streams_pass_bytes_on_in_both_directions() -> None:
    sent = bytes(range(256)) * (1 << 14)
    ended: list[asyncio.Event] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()
        ended[0].set()

    async def main() -> None:
        ended.append(asyncio.Event())
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        stream = await _streams.Backend().connect_tcp("127.0.0.1", port, timeout=5)
        # Nothing is read, so both sides fill up, and writing waits.
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(sent * 8, timeout=0.3)
        received = bytearray()
        while len(received) < len(sent) * 8:
            received += await stream.read(10_000, timeout=5)
        assert received == sent * 8
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(1, timeout=0.05)
        assert not stream.get_extra_info("is_readable")
        await stream.aclose()
        assert await stream.read(1, timeout=5) == b""
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"x", timeout=5)
        server.close()
        await asyncio.wait_for(ended[0].wait(), 5)

    asyncio.run(main())
