"""Private nodes: they start, and they end with the process that started them."""

from __future__ import annotations

import asyncio
import collections
import gc
import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support import expected_rewards, free_port, in_child, is_alive, math_items, wait_until

import assay
from assay import _binary
from assay._log import read_log

# A process that starts a node, prints it, and waits.
HOLDER = """
import json, os, sys, time
import assay
server = assay.serve()
print(json.dumps({"node": server.pid, "url": server.url}), flush=True)
"""


def holder(rest: str) -> tuple[subprocess.Popen[str], dict[str, object]]:
    """A process that runs `HOLDER` and more, and what it printed."""
    source = str(Path(assay.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER + rest],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def test_serves_on_a_free_port() -> None:
    with assay.serve() as server, assay.serve() as other:
        assert server.url != other.url
        assert server.url.startswith("http://127.0.0.1:")
        with server.client() as client:
            assert client.grade(math_items(8)).rewards() == expected_rewards(8)
        pids = [server.pid, other.pid]
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))
    # Closing again does nothing.
    server.close()


def test_serves_on_a_given_port() -> None:
    port = free_port()
    with assay.serve(port=port) as server:
        assert server.url == f"http://127.0.0.1:{port}"
        with pytest.raises(assay.CommandFailedError, match=f"^port {port} is in use; choose"):
            assay.serve(port=port)
    with assay.serve(port=0) as server:
        assert not server.url.endswith(":0")
    with pytest.raises(ValueError, match="`port` is 65536"):
        assay.serve(port=65536)


def test_reading_without_a_record_fails_at_once() -> None:
    with assay.serve() as server, server.client() as client:
        with pytest.raises(assay.RequestRejectedError, match="start it with a database"):
            list(client.grades())


def test_records_grades_if_asked(tmp_path: Path) -> None:
    with assay.serve(database=tmp_path / "record.db") as server:
        with server.client() as client:
            client.grade(math_items(8), run="r")
            assert len(list(client.grades(run="r"))) == 8


def test_a_node_that_is_not_used_any_more_ends() -> None:
    server = assay.serve()
    pid = server.pid
    del server
    gc.collect()
    assert not is_alive(pid)


def test_a_node_ends_with_its_process() -> None:
    process, printed = holder("")
    assert process.wait(60) == 0
    assert process.stdout is not None
    process.stdout.close()
    assert not is_alive(int(str(printed["node"])))


def test_a_node_ends_with_a_killed_process() -> None:
    process, printed = holder("time.sleep(600)")
    node = int(str(printed["node"]))
    assert is_alive(node)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    wait_until(lambda: not is_alive(node))


def test_a_node_ends_with_a_killed_process_whose_forked_child_goes_on() -> None:
    process, printed = holder(
        """
child = os.fork()
if child == 0:
    time.sleep(600)
print(child, flush=True)
time.sleep(600)
"""
    )
    node = int(str(printed["node"]))
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    try:
        wait_until(lambda: not is_alive(node))
        assert is_alive(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_uses_the_node_and_leaves_it_running() -> None:
    server = assay.serve()
    with server, server.client() as client:

        def grades() -> bool:
            return client.grade(math_items(8)).rewards() == expected_rewards(8)

        def uses_and_closes() -> bool:
            is_right = grades()
            server.close()
            return is_right

        assert grades()
        assert in_child(uses_and_closes)
        assert grades()


def test_a_forked_child_starts_a_node_of_its_own() -> None:
    read, write = os.pipe()

    def starts() -> bool:
        with assay.serve() as own, own.client() as client:
            os.write(write, str(own.pid).encode())
            return client.grade(math_items(8)).rewards() == expected_rewards(8)

    with assay.serve() as server:
        assert in_child(starts)
        own = int(os.read(read, 100))
        assert own != server.pid
        assert not is_alive(own)
        assert is_alive(server.pid)
    os.close(read)
    os.close(write)


def test_a_node_outlives_the_thread_that_started_it() -> None:
    started: list[assay.Server] = []
    thread = threading.Thread(target=lambda: started.append(assay.serve()))
    thread.start()
    thread.join()
    (server,) = started
    with server, server.client() as client:
        assert client.grade(math_items(8)).rewards() == expected_rewards(8)


def test_works_while_an_event_loop_runs() -> None:
    """As in a notebook, where the code of a cell runs inside an event loop."""

    async def cell() -> None:
        assert assay.grade(math_items(8)).rewards() == expected_rewards(8)
        with assay.serve() as server:
            with server.client() as client:
                assert client.grade(math_items(8)).rewards() == expected_rewards(8)
            async with server.async_client() as other:
                assert (await other.grade(math_items(8))).rewards() == expected_rewards(8)

    asyncio.run(cell())


def test_an_interrupt_of_the_terminal_does_not_end_the_node() -> None:
    with assay.serve() as server:
        assert os.getpgid(server.pid) != os.getpgid(0)


def test_a_node_that_does_not_start_says_why(tmp_path: Path) -> None:
    config = tmp_path / "assay.toml"
    config.write_text("[nonsense]\n")
    with pytest.raises(
        assay.CommandFailedError, match="(?s)ended with status 2.*nonsense"
    ) as error:
        assay.serve(config=config)
    assert "nonsense" in error.value.output


def test_a_missing_binary_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(_binary.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(assay.BinaryNotFoundError, match="which is not an executable file"):
        assay.serve()
    monkeypatch.delenv(_binary.VARIABLE)
    monkeypatch.setattr(_binary, "_folders", lambda: [tmp_path])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(assay.BinaryNotFoundError, match="install that wheel"):
        assay.grade(math_items(1))
    # The folder of the environment comes before the `PATH`.
    file = tmp_path / "assay"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    assert _binary.find() == str(file)


def test_shows_notices_of_slow_work(capsys: pytest.CaptureFixture[str]) -> None:
    lines: collections.deque[str] = collections.deque(maxlen=2)
    log = b"a\nINFO assay: compiling an image for this machine, which is done once\nb\n"
    read_log(io.BytesIO(log), lines, False)
    assert capsys.readouterr().err == (
        "assay: compiling an image for this machine, which is done once\n"
    )
    assert lines[1] == "b"
    read_log(io.BytesIO(log), lines, True)
    assert capsys.readouterr().err == log.decode()


@pytest.mark.parametrize("port", [True, False])
def test_rejects_a_port_that_is_a_truth_value(port: bool) -> None:
    with pytest.raises(TypeError, match=f"`port` is {port}"):
        assay.serve(port=port)
