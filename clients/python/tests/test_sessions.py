"""Interpreter sessions against a node."""

from __future__ import annotations

import asyncio
import json

import pytest
from support import Node

import assay


def test_a_session_keeps_names_and_ends_with_its_block(client: assay.Client) -> None:
    with client.session("python", seed=3, files={"a": "1", "b": b"\x00\xff"}) as session:
        assert session.run("x = 20").value is None
        reply = session.run("x + 1, open('b', 'rb').read()", fetch=["a", "b"])
        assert (reply.value, reply.outcome) == ("(21, b'\\x00\\xff')", "ok")
        assert reply.files["a"] == "1"
        assert session.file("b") == b"\x00\xff"
        assert reply.remaining.calls == 998
        failed = session.run("1 / 0")
        assert failed.exception is not None
        assert failed.exception.message == "ZeroDivisionError: division by zero"
        assert session.describe().calls == 3
    with pytest.raises(assay.AssayError, match="not open"):
        session.run("x")


def test_forks_and_logs(client: assay.Client) -> None:
    with client.session("python", limits={"calls": 3}) as session:
        session.run("x = [1]")
        (fork,) = session.fork()
        assert fork.run("x.append(2); x").value == "[1, 2]"
        assert session.run("x").value == "[1]"
        log = session.log()
        replay = client.replay_session(json.loads(json.dumps(log.to_dict())))
        assert replay.equal and replay.calls == 2
        session.run("x")
        with pytest.raises(assay.RequestRejectedError) as rejected:
            session.run("x")
        assert rejected.value.code == "session_exhausted"
        fork.close()
        fork.close()


def test_the_same_for_asyncio(node: Node) -> None:
    async def rollout(seed: int) -> str | None:
        async with assay.AsyncClient(node.url) as client:
            async with client.session("python", seed=seed) as session:
                await session.run("import os\nx = os.urandom(8)")
                (fork,) = await session.fork()
                assert (await fork.run("x")).value == (await session.run("x")).value
                assert (await client.replay_session(await fork.log())).equal
                await fork.close()
                return (await session.run("x")).value

    async def both() -> list[str | None]:
        return list(await asyncio.gather(rollout(1), rollout(1), rollout(2)))

    first, same, other = asyncio.run(both())
    assert first == same != other
