"""Clients: threads that send items in every form of the API, and repeat what was not answered."""

import contextlib
import http.client
import json
import random
import threading
import time

import calls

# Statuses of a service that is busy, stopping, or without its record.
PASSING = (429, 503, 504)
NDJSON = "application/x-ndjson"
TIMEOUT = 60
LONGEST_PAUSE = 1.0
# How often a keyed batch is repeated because the record failed, before its results are accepted.
UNRECORDED_TRIES = 3
KINDS = {"whole": 3, "keyed": 4, "stream": 3, "keyed stream": 4, "policy": 2, "call": 4, "read": 2}


class Broken(Exception):
    """A request without a usable answer; it may be repeated."""


class Client:
    """One connection at a time to a node that may restart."""

    def __init__(self, node, ledger, name, seed):
        self.node, self.ledger, self.name = node, ledger, name
        self.rng = random.Random(f"{seed} {name}")
        self.connection, self.number = None, 0
        # When the current batch or call was first sent; None while idle.
        self.since = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def exchange(self, path, body, headers=None):
        """The body of a reply with status 200 in lines. Raises `Broken` if nothing of it
        arrived.
        """
        began, pieces = time.monotonic(), []
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.node.port, timeout=TIMEOUT
                )
            self.connection.request(
                "POST" if body is not None else "GET",
                path,
                body,
                {"content-type": "application/json", **(headers or {})},
            )
            reply = self.connection.getresponse()
            if reply.status != 200:
                self.refused(path, reply)
            if reply.getheader("content-type") == NDJSON and reply.chunked:
                # Each line counts as received, even if the stream breaks later.
                for line in iter(reply.readline, b""):
                    pieces.append(line)
            else:
                pieces = reply.read().splitlines(keepends=True)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if not pieces:
                raise Broken(type(error).__name__) from error
        finally:
            self.ledger.request(path.split("?")[0], began)
        return pieces

    def refused(self, path, reply):
        """Raises `Broken` for a reply with another status than 200, and reports unexpected ones."""
        said = reply.read()
        if reply.status not in PASSING:
            self.ledger.note(self.ledger.unexpected, f"{path}: {reply.status} {said[:300]!r}")
        elif reply.getheader("retry-after") is None:
            self.ledger.note(
                self.ledger.unexpected, f"{path}: a {reply.status} without `Retry-After`"
            )
        raise Broken(str(reply.status))

    def repeat(self, attempt, deadline):
        """What `attempt` returns once it does not raise `Broken`; None after the deadline."""
        pause = 0.02
        while time.monotonic() < deadline():
            try:
                return attempt()
            except Broken as broken:
                self.ledger.retry(str(broken))
                time.sleep(pause * self.rng.uniform(0.5, 1))
                pause = min(pause * 2, LONGEST_PAUSE)
        return None

    def batch(self, items, run, deadline, key=False, stream=False, extra=None):
        """Sends items until each has a grade; returns whether all have one."""
        self.since = time.monotonic()
        try:
            while items:
                self.number += 1
                self.ledger.count("items", len(items))
                results = self.repeat(Attempt(self, items, run, key, stream, extra), deadline)
                if results is None:
                    self.ledger.note(
                        self.ledger.unanswered,
                        f"{len(items)} items of {self.name}, batch {self.number}",
                    )
                    return False
                any_reward = bool((extra or {}).get("policy"))
                again = {result["id"] for result in results if self.ledger.told(result, any_reward)}
                items = [item for item, result in zip(items, results) if result["id"] in again]
                if items:
                    self.ledger.retry("failed items")
                    time.sleep(self.rng.uniform(0.05, 0.3))
            return True
        finally:
            self.since = None

    def call(self, name, call, deadline):
        """Sends a call until it is answered."""
        self.since = time.monotonic()
        self.number += 1
        body = call.body(f"{self.name}n{self.number}")

        def attempt():
            return b"".join(self.exchange(call.path, body))

        reply = self.repeat(attempt, deadline)
        if reply is None:
            self.ledger.note(self.ledger.unanswered, f"{name} of {self.name}")
        else:
            self.ledger.count("calls")
            self.ledger.answered(name, call.answer(reply))
        self.since = None


class Attempt:
    """One batch, sent until it is answered: identical each time if it has a key, otherwise with new
    ids.
    """

    def __init__(self, client, items, run, key, stream, extra):
        self.client, self.items, self.run, self.stream, self.extra = (
            client,
            items,
            run,
            stream,
            extra,
        )
        self.label = f"{client.name}n{client.number}"
        self.key = f"{run}-{self.label}" if key else None
        self.tries, self.unrecorded = 0, 0

    def __call__(self):
        name = self.label if self.key else f"{self.label}t{self.tries}"
        self.tries += 1
        body = {
            "run": self.run,
            "step": self.client.number,
            **(self.extra or {}),
            "items": [item.body(name, name) for item in self.items],
        }
        data = json.dumps(body).encode()
        results = self.send(data)
        in_order = {result["id"]: result for result in results}
        if len(in_order) != len(results) or len(results) != len(self.items):
            self.client.ledger.note(
                self.client.ledger.unexpected,
                f"{name}: {len(results)} results for {len(self.items)} items",
            )
            raise Broken("wrong number of results")
        if (
            self.key
            and not all(result["recorded"] for result in results)
            and self.unrecorded < UNRECORDED_TRIES
        ):
            self.unrecorded += 1
            self.noted(results)
            raise Broken("not recorded")
        return [in_order[f"{name}/{item.key}"] for item in self.items]

    def send(self, data):
        """The results of a complete reply; those of an incomplete one are noted before `Broken` is
        raised.
        """
        pieces = self.post(data)
        if not self.stream:
            results = json.loads(b"".join(pieces))["results"]
        else:
            lines = [json.loads(piece) for piece in pieces if piece.endswith(b"\n")]
            results = [line for line in lines if line["type"] == "result"]
            if not lines or lines[-1]["type"] != "end":
                self.noted(results)
                # The rest of the stream must not be read as the next reply.
                self.client.close()
                raise Broken("stream cut short")
        # The answer to a key is stored once all of it is recorded.
        if (
            self.key
            and self.client.rng.random() < 0.1
            and all(result["recorded"] for result in results)
        ):
            with contextlib.suppress(Broken):
                again = self.post(data)
                self.client.ledger.count("answers repeated")
                if again != pieces:
                    self.client.ledger.note(
                        self.client.ledger.repeated, f"{self.key}: other bytes the second time"
                    )
        return results

    def post(self, data):
        headers = {"idempotency-key": self.key} if self.key else {}
        return self.client.exchange(
            "/v1/grade", data, {**headers, "accept": NDJSON if self.stream else "application/json"}
        )

    def noted(self, results):
        any_reward = bool((self.extra or {}).get("policy"))
        for result in results:
            self.client.ledger.told(result, any_reward)


class Load:
    """Several clients that send until they are stopped."""

    def __init__(self, node, ledger, items, runs, seed, clients):
        self.items, self.ledger = list(items.values()), ledger
        self.calls, self.reads = calls.make(seed), calls.reads(runs)
        self.clients = [Client(node, ledger, f"c{n}", seed) for n in range(clients)]
        self.over, self.resting = threading.Event(), threading.Event()
        self.deadline = float("inf")
        self.threads = []

    def start(self, run):
        self.threads = [
            threading.Thread(target=self.work, args=(client, run), daemon=True)
            for client in self.clients
        ]
        for thread in self.threads:
            thread.start()

    def finish(self, seconds):
        """Ends the load; open requests have `seconds` left."""
        self.deadline = time.monotonic() + seconds
        self.over.set()
        for thread in self.threads:
            thread.join(seconds + 2 * TIMEOUT)
            if thread.is_alive():
                self.ledger.note(self.ledger.unanswered, "a client is still waiting for a reply")
        for client in self.clients:
            client.close()

    def since(self):
        """When the oldest open batch or call was first sent; None if there is none."""
        started = [client.since for client in self.clients]
        return min((since for since in started if since is not None), default=None)

    @contextlib.contextmanager
    def at_rest(self, seconds):
        """Pauses the load; waits at most `seconds` for open batches and calls."""
        self.resting.set()
        until = time.monotonic() + seconds
        while self.since() is not None and time.monotonic() < until:
            time.sleep(0.02)
        try:
            yield
        finally:
            self.resting.clear()

    def work(self, client, run):
        deadline = lambda: self.deadline
        while not self.over.is_set():
            if self.resting.is_set():
                time.sleep(0.02)
                continue
            kind = client.rng.choices(list(KINDS), KINDS.values())[0]
            items = client.rng.sample(self.items, client.rng.randrange(1, 24))
            if kind == "call":
                name = client.rng.choice(list(self.calls))
                client.call(name, self.calls[name], deadline)
            elif kind == "read":
                name = client.rng.choice(list(self.reads))
                client.call(name, self.reads[name], deadline)
            elif kind == "policy":
                extra = {
                    "policy": "appealed",
                    "statistics": ["p_hat", "rloo", "answers", "curriculum"],
                }
                # The batch has a policy, so items with their own are left out.
                items = [
                    item
                    for item in items
                    if item.family != "math" or "policy" not in item.body("", "")
                ]
                client.batch(items, run, deadline, extra=extra)
            else:
                client.batch(items, run, deadline, "keyed" in kind, "stream" in kind)
            if client.rng.random() < 0.5:
                time.sleep(client.rng.uniform(0, 0.3))


def quiet_round(node, ledger, items, seed, run, clients, learn=False):
    """Grades every item and sends every call once, without retries. Returns the problems."""
    every, problems, results = list(items.values()), [], []
    chunks = [every[at : at + 24] for at in range(0, len(every), 24)]
    queue, lock = list(enumerate(chunks)), threading.Lock()

    def work(client):
        while True:
            with lock:
                if not queue:
                    return
                number, chunk = queue.pop()
            client.number = number
            try:
                got = Attempt(client, chunk, run, False, number % 2 == 1, None)()
            except Broken as broken:
                problems.append(f"batch {number}: {broken}")
                continue
            results.extend(got)

    workers = [Client(node, ledger, f"{run}{n}-", seed) for n in range(clients)]
    threads = [threading.Thread(target=work, args=(client,), daemon=True) for client in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [
        f"{result['id']}: {result['error']}" for result in results if result["outcome"] == "failed"
    ]
    failed += [f"{result['id']}: not recorded" for result in results if not result["recorded"]]
    if learn:
        ledger.learn(results)
    problems += failed
    for result in results:
        ledger.told(result)
    for name, call in calls.make(seed).items():
        try:
            ledger.answered(
                name, call.answer(b"".join(workers[0].exchange(call.path, call.body(run))))
            )
        except Broken as broken:
            problems.append(f"{name}: {broken}")
    for client in workers:
        client.close()
    return problems
