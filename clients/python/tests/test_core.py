"""Retries, balancing and deadlines, without a network and without a clock."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support import math_items

from assay import (
    DeadlineExceededError,
    RequestRejectedError,
    ServerUnavailableError,
    UnexpectedReplyError,
)
from assay._core import Broken, CallKey, Core, Outcome, Reply, Request, Send, Settings, Sleep
from assay._decoding import decode
from assay._http import reply
from assay._items import Batch, Options
from assay._nodes import pause

ONE = ("http://one",)
TWO = ("http://one", "http://two")
KEYED = Request("POST", "/v1/grade", body=b"{}", repeatable=False, keyed=True)

REFUSED = Broken(OSError("refused"), may_be_sent=False)
LOST = Broken(OSError("lost"), may_be_sent=True)
DONE = Reply(200, b'{"done":true}')
READY = Reply(200, b"{}")


def rejected(status: int, code: str, retry_after: float | None = None) -> Reply:
    body = {"error": {"code": code, "message": "no", "pointer": None}, "request_id": "r"}
    return Reply(status, json.dumps(body).encode(), retry_after)


class World:
    """Servers that answer from a script, and a clock that only sleeping moves."""

    def __init__(self, urls: tuple[str, ...], **settings: Any) -> None:
        self.now = 1000.0
        self.core = Core(Settings(urls=urls, **settings), clock=lambda: self.now)
        self.scripts: dict[str, list[Outcome]] = {f"http://{name}": [] for name in ("one", "two")}
        self.sent: list[str] = []
        self.probed: list[str] = []
        self.is_up: Callable[[str], bool] = lambda url: True
        self.slept = 0.0

    def run(self, operation: Any) -> Any:
        outcome: Outcome = None
        try:
            command = next(operation)
            while True:
                if isinstance(command, Sleep):
                    self.now += command.seconds
                    self.slept += command.seconds
                    outcome = None
                else:
                    outcome = self.answer(command)
                command = operation.send(outcome)
        except StopIteration as stop:
            return stop.value

    def answer(self, send: Send) -> Outcome:
        url = send.node.url
        if send.request.path == "/readyz":
            self.probed.append(url)
            return READY if self.is_up(url) else REFUSED
        self.sent.append(url)
        script = self.scripts[url]
        return script.pop(0) if script else DONE

    def exchange(self, request: Request = KEYED, deadline: float | None = None) -> Any:
        ends_at = None if deadline is None else self.now + deadline
        return self.run(self.core.exchange(request, lambda reply: json.loads(reply.body), ends_at))


@pytest.fixture(autouse=True)
def seeded() -> None:
    random.seed(1)


def test_waits_as_long_as_an_overloaded_server_asks() -> None:
    world = World(ONE)
    world.scripts["http://one"] = [rejected(429, "overloaded", 7.0)]
    assert world.exchange() == {"done": True}
    assert world.slept >= 7.0
    assert world.sent == ["http://one"] * 2


def test_an_overloaded_server_is_not_down() -> None:
    world = World(ONE, server_timeout=1.0)
    world.scripts["http://one"] = [rejected(429, "overloaded", 5.0)] * 20
    assert world.exchange() == {"done": True}
    assert world.probed == []


@pytest.mark.parametrize(
    "outcome",
    [REFUSED, rejected(503, "shutting_down"), rejected(429, "overloaded", 60.0)],
    ids=["refused", "shutting down", "overloaded"],
)
def test_a_request_that_was_not_accepted_goes_elsewhere_at_once(outcome: Outcome) -> None:
    world = World(TWO)
    world.core.nodes.all[1].load = 5
    world.scripts["http://one"] = [outcome]
    assert world.exchange() == {"done": True}
    assert world.sent == ["http://one", "http://two"]
    assert world.slept < 1.0


@pytest.mark.parametrize(
    "outcome",
    [LOST, Reply(502, b"<html>"), Reply(504, b""), Reply(200, b'{"cut')],
    ids=["lost", "bad gateway", "gateway timeout", "cut"],
)
def test_a_request_that_may_be_accepted_goes_to_the_same_server(outcome: Outcome) -> None:
    world = World(TWO)
    world.core.nodes.all[1].load = 5
    world.scripts["http://one"] = [outcome] * 2

    assert world.run(world.core.exchange(KEYED, lambda reply: decode(reply.body), None)) == {
        "done": True
    }
    assert world.sent == ["http://one"] * 3


def test_a_read_that_was_lost_goes_elsewhere() -> None:
    world = World(TWO)
    world.core.nodes.all[1].load = 5
    world.scripts["http://one"] = [LOST]
    assert world.exchange(Request("GET", "/v1/runs")) == {"done": True}
    assert world.sent == ["http://one", "http://two"]


def test_a_write_without_a_key_is_not_repeated() -> None:
    world = World(ONE)
    world.scripts["http://one"] = [LOST]
    with pytest.raises(ServerUnavailableError, match="may have been processed"):
        world.exchange(Request("POST", "/v1/checks", repeatable=False))
    assert len(world.sent) == 1


def test_a_batch_goes_elsewhere_if_its_server_stays_down() -> None:
    world = World(TWO, server_timeout=30.0)
    world.core.nodes.all[1].load = 5
    world.scripts["http://one"] = [LOST]
    world.is_up = lambda url: url == "http://two"
    assert world.exchange() == {"done": True}
    assert world.sent == ["http://one", "http://two"]
    assert 29.0 < world.slept < 40.0


def test_gives_up_after_its_server_timeout() -> None:
    world = World(TWO, server_timeout=10.0)
    world.scripts = {url: [REFUSED] * 9 for url in world.scripts}
    world.is_up = lambda url: False
    with pytest.raises(ServerUnavailableError, match="http://one, http://two: .* refused"):
        world.exchange()
    assert 9.0 < world.slept < 20.0


@pytest.mark.parametrize("comes_back", [True, False])
def test_time_in_which_the_process_was_suspended_does_not_count(comes_back: bool) -> None:
    world = World(ONE, server_timeout=60.0)
    world.scripts["http://one"] = [REFUSED]

    def is_up(url: str) -> bool:
        if len(world.probed) > 1:
            return comes_back
        # The probe fails, and its result is read long after.
        world.now += 300.0
        return False

    world.is_up = is_up
    if comes_back:
        assert world.exchange() == {"done": True}
    else:
        with pytest.raises(ServerUnavailableError):
            world.exchange()
    assert len(world.probed) == 2


def test_control_characters_of_an_error_are_escaped() -> None:
    world = World(ONE)
    error = {"code": "a\x1bb", "message": "c\x1b[2Jd\ne\x9bé\u202e", "pointer": "/f\r"}
    body = json.dumps({"error": error, "request_id": None}).encode()
    world.scripts["http://one"] = [Reply(422, body)]
    with pytest.raises(RequestRejectedError) as raised:
        world.exchange()
    assert str(raised.value) == ("422 `a\\x1bb` at `/f\\r`: c\\x1b[2Jd\\ne\\x9bé\\u202e")


def test_gives_up_on_a_request_that_breaks_its_server() -> None:
    world = World(ONE)
    world.scripts["http://one"] = [LOST] * 100
    with pytest.raises(ServerUnavailableError, match="lost 10 times"):
        world.exchange()


def test_the_deadline_names_the_last_failure() -> None:
    world = World(ONE)
    world.scripts["http://one"] = [rejected(429, "overloaded", 3.0)] * 100
    with pytest.raises(DeadlineExceededError, match="429 no"):
        world.exchange(deadline=10.0)
    assert world.slept == pytest.approx(10.0, abs=0.01)


def test_rejects_replies_of_other_servers() -> None:
    world = World(ONE)
    world.scripts["http://one"] = [Reply(404, b"<html>not found</html>")]
    with pytest.raises(UnexpectedReplyError, match="is that of an Assay server"):
        world.exchange()


def test_an_error_of_the_request_is_raised_at_once() -> None:
    world = World(TWO)
    world.scripts = {url: [rejected(422, "invalid_task")] for url in world.scripts}
    with pytest.raises(RequestRejectedError) as error:
        world.exchange()
    assert (error.value.status, error.value.code, error.value.request_id) == (
        422, "invalid_task", "r",
    )  # fmt: skip
    assert len(world.sent) == 1


def test_requests_go_to_the_server_with_fewest_items() -> None:
    world = World(TWO)
    world.core.nodes.all[0].load = 100
    assert world.exchange() == {"done": True}
    assert world.sent == ["http://two"]


def test_a_server_that_is_down_is_skipped_and_tried_again() -> None:
    world = World(TWO)
    world.core.nodes.all[1].load = 1000
    world.scripts["http://one"] = [REFUSED]
    world.is_up = lambda url: False
    for _ in range(5):
        world.exchange()
    assert world.sent == ["http://one", *["http://two"] * 5]
    # After its pause it is tried with a probe, and then used.
    world.is_up = lambda url: True
    world.now += 60.0
    world.exchange()
    assert world.probed[-1] == "http://one"
    assert world.sent[-1] == "http://one"


def test_nothing_stays_counted_as_load() -> None:
    world = World(TWO)
    world.scripts["http://one"] = [LOST, rejected(429, "overloaded"), REFUSED]
    world.exchange()
    operation = world.core.exchange(KEYED, lambda reply: None, None)
    next(operation)
    operation.close()
    assert [node.load for node in world.core.nodes.all] == [0, 0]


def test_a_request_that_is_too_large_is_divided_between_groups() -> None:
    world = World(ONE)
    batch = Batch.encode(math_items(32), Options())
    sizes: list[int] = []

    def answer(send: Send) -> Outcome:
        assert send.request.body is not None
        count = len(json.loads(send.request.body)["items"])
        if count > 8:
            return rejected(413, "too_many_items")
        sizes.append(count)
        return Reply(200, json.dumps({"results": [{}] * count}).encode())

    world.answer = answer  # type: ignore[method-assign]
    (chunk,) = batch.chunks(1000, 1_000_000)
    replies = world.run(world.core.grade(chunk, CallKey.of(None), None))
    assert sizes == [8, 8, 8, 8]
    assert [list(reply.positions) for reply in replies] == [
        list(range(first, first + 8)) for first in (0, 8, 16, 24)
    ]
    # Later batches are divided before they are sent.
    assert world.core.chunk_items == 8


def test_a_group_that_is_too_large_is_an_error() -> None:
    world = World(ONE)
    world.scripts["http://one"] = [rejected(413, "too_many_items")] * 9
    (chunk,) = Batch.encode(math_items(8), Options()).chunks(1000, 1_000_000)
    with pytest.raises(RequestRejectedError, match="413"):
        world.run(world.core.grade(chunk, CallKey.of(None), None))


def test_pauses_grow_and_vary() -> None:
    assert [pause(failures, lambda: 1.0) for failures in (0, 1, 2, 3, 10, 100)] == [
        0.1, 0.2, 0.4, 0.8, 5.0, 5.0,
    ]  # fmt: skip
    assert pause(0, lambda: 0.0) == pytest.approx(0.05)


def test_messages_do_not_contain_keys() -> None:
    world = World(("http://user:secret@one:8080/k/secret/",))
    world.core.settings = Settings(urls=ONE, server_timeout=1.0)
    world.answer = lambda send: REFUSED  # type: ignore[method-assign]
    with pytest.raises(ServerUnavailableError, match="http://one:8080/k/…: ") as error:
        world.exchange()
    assert "secret" not in str(error.value)
    assert world.core.nodes.all[0].url == "http://user:secret@one:8080/k/secret"


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("-1", 0.0), ("nan", None), ("inf", None), ("1e9", 600.0)]
)
def test_reads_how_long_to_wait(value: str, seconds: float | None) -> None:
    assert reply(429, {"retry-after": value}, b"").retry_after == seconds
    assert reply(429, {}, b"").retry_after is None


def test_a_given_key_chooses_the_server() -> None:
    servers = set()
    for number in range(20):
        key = f"key-{number}"
        for _ in range(3):
            world = World(TWO)
            # The load of the servers does not matter.
            world.core.nodes.all[random.randrange(2)].load = 1000
            world.exchange(replace(KEYED, sticky_key=key))
            servers.add((key, world.sent[0]))
    assert len(servers) == 20
    assert len({server for _, server in servers}) == 2


def test_only_the_first_request_waits_for_a_server_that_stays_down() -> None:
    world = World(TWO, server_timeout=30.0)
    world.is_up = lambda url: False
    key = next(
        name
        for name in map(str, range(100))
        if world.core.nodes.preferred(name).url == "http://one"
    )
    world.scripts["http://one"] = [REFUSED]
    for _ in range(5):
        world.exchange(replace(KEYED, sticky_key=key))
    assert world.sent == ["http://one", *["http://two"] * 5]
    assert 29.0 < world.slept < 40.0


def test_the_first_failure_is_logged_and_the_error_says_what_was_tried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(ONE, server_timeout=20.0)
    world.scripts["http://one"] = [REFUSED]
    world.is_up = lambda url: False
    for _ in range(2):
        with pytest.raises(ServerUnavailableError) as error:
            world.exchange()
        message = str(error.value)
        assert re.search(r"http://one: not available for 2\d(\.\d)? s \(attempts: \d+\)", message)
        assert "the last failure: http://one: refused" in message
        assert "increase `server_timeout` of the client, which is 20 s" in message
    # A later call of the same outage is logged too, although its request is never sent.
    assert world.sent == ["http://one"]
    assert [record.message for record in caplog.records] == [
        "a request failed and is sent again for up to 20 s: http://one: refused; "
        "`server_timeout` of the client sets how long"
    ] * 2


def test_concurrent_requests_log_a_failure_once(caplog: pytest.LogCaptureFixture) -> None:
    world = World(ONE)
    operations = [world.core.exchange(KEYED, lambda reply: None, None) for _ in range(50)]
    for operation in operations:
        assert isinstance(next(operation), Send)
    for operation in operations:
        operation.send(REFUSED)
        operation.close()
    assert len(caplog.records) == 1
