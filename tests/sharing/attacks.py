"""What a hostile caller sends: the attacks of `neighbours.py` and `tests/chaos`.

usage: attacks.py NAME PORT [--source ADDRESS], or attacks.py --list

Each attack is a function that prepares its requests and returns another, which sends one of them.
That function is called with 0, 1, 2, … by several threads until the attack ends.
"""

import argparse
import base64
import gzip
import itertools
import json
import multiprocessing
import pickle
import random
import select
import struct
import threading
import time
import urllib.parse
import zlib

import mathematics
from attacker import REFUSED_SECONDS, Attacker, frame, sized, status_of

# More than a gigabyte in one request is refused.
UNPACKED_MIB, ROWS = 127, 7
PATTERNS_OF_A_TASK = 64
SCHEMA_PATTERNS = 5_000
LARGEST_BATCH, CHECKS = 65_536, 256
# Counts as 240 MB, just below the limit of one body.
OPEN_BODY_ARRAYS, OPEN_BODY_BYTES = 800_000, 40 << 20
OPEN_BODY_SIZES = 10
GRADE_TESTS = 32
UNREAD_REPLIES = 60


def program(code, tests=1, **task):
    tests = [{"stdin": str(number), "stdout": "none"} for number in range(tests)]
    task = {"type": "code", "language": "python", "tests": tests, **task}
    return {"completion": f"```{task['language']}\n{code}\n```", "task": task}


def template_rows(attacker):
    """Rows of a built-in template that unpack to the most that a row may."""
    text = "[" + " " * (UNPACKED_MIB << 20) + '{"input":"1","output":"1","testtype":"stdin"}]'
    packed = base64.b64encode(zlib.compress(pickle.dumps(text, 4), 9)).decode()
    row = {"public_test_cases": "[]", "private_test_cases": packed, "metadata": "{}"}

    def send(number):
        rows = [{**row, "salt": number * ROWS + index} for index in range(ROWS)]
        tasks = [{"template": "livecodebench", "row": row} for row in rows]
        attacker.grade([{"completion": "x", "task": task} for task in tasks])

    return send


def slow_patterns(number, tasks=16):
    """Tasks with regular expressions that compile slowly."""
    for task in range(tasks):
        golds = [f"\\w{{10}}s{number}x{task}x{gold}" for gold in range(PATTERNS_OF_A_TASK)]
        yield {"completion": "x", "task": {"type": "text", "match": "pattern", "answer": golds}}


def patterns(attacker):
    return lambda number: attacker.grade(list(slow_patterns(number)))


def invalid_patterns(attacker):
    """The same, but the batch is refused for its last item."""
    invalid = {"type": "text", "match": "pattern", "answer": "\\w{10}("}
    last = {"completion": "x", "task": invalid}
    return lambda number: attacker.grade([*slow_patterns(number), last])


def schemas(attacker):
    """JSON Schemas with thousands of patterns."""

    def send(number):
        names = (f"\\w{{30}}s{number}x{index}" for index in range(SCHEMA_PATTERNS))
        schema = {"patternProperties": {name: {} for name in names}}
        attacker.grade([{"completion": "{}", "task": {"type": "structured", "schema": schema}}])

    return send


def open_bodies(attacker):
    """Compressed bodies that count as much memory and never end."""
    head = (
        "POST /v1/grade HTTP/1.1\r\ntransfer-encoding: chunked\r\n"
        "content-type: application/json\r\ncontent-encoding: gzip\r\n"
        f"{attacker.fields_of_head()}\r\n"
    )
    requests = []
    for halved in range(OPEN_BODY_SIZES):
        pack = zlib.compressobj(9, zlib.DEFLATED, 31)
        arrays = "[]," * (OPEN_BODY_ARRAYS >> halved)
        start = f'{{"items":[{{"completion":"1","task":{{}},"meta":{{"x":[{arrays}'
        data = pack.compress(start.encode()) + pack.compress(b" " * (OPEN_BODY_BYTES >> halved))
        data += pack.flush(zlib.Z_SYNC_FLUSH)
        requests.append(head.encode() + f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def send(number):
        attacker.open()
        # Large bodies first; once they are refused, small ones take what is left.
        connection = attacker.connect(requests[number % len(requests)])
        if select.select([connection], [], [], 1)[0]:
            attacker.held.remove(connection)
            with connection:
                attacker.count(status_of(connection.recv(64)))
            time.sleep(REFUSED_SECONDS)

    return send


def endless_loops(attacker):
    """Two of the largest batches, of programs that never end."""
    bodies = []
    for number in range(2):
        loops = [
            program(f"x = {number * LARGEST_BATCH + i}\nwhile 1: 0") for i in range(LARGEST_BATCH)
        ]
        bodies.append(
            gzip.compress(json.dumps({"fields": ["verdict"], "items": loops}).encode(), 1)
        )
    return lambda number: attacker.post(
        "/v1/grade", bodies[number % 2], {"content-encoding": "gzip"}
    )


def long_tests(attacker):
    """Programs with many tests, each of which may run for a minute."""
    limits = {"limits": {"seconds": 60}, "score": "fraction", "stop_at_first_failure": False}
    return lambda number: attacker.grade([program(f"x = {number}\nwhile 1: 0", 50, **limits)])


def compilations(attacker):
    """C++ programs that compile for as long as the compiler may."""
    code = (
        "template<int N,int M>struct F{{static const int v=F<N-1,M>::v+F<N-1,M+1>::v;}};"
        "template<int M>struct F<0,M>{{static const int v={0};}};int main(){{return F<800,0>::v;}}"
    )
    return lambda number: attacker.grade([program(code.format(number), language="cpp")])


def run_code(attacker):
    """Endless loops through the interface of another server."""
    path = "/compat/sandboxfusion/run_code"
    limits = {"language": "python", "run_timeout": 30}
    return lambda number: attacker.post(path, {"code": f"x = {number}\nwhile 1: 0", **limits})


def series(rows, text):
    return (
        f"with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows}) {text}"
    )


def query_results(attacker):
    """Golds whose results have tens of megabytes on each of five databases."""
    limits = {"work": 100_000_000, "rows": 1_000_000, "bytes": 64_000_000}
    gold = "select a.a, b.a, a.b || b.b from t a, t b"

    def send(number):
        text = f"insert into t select i, printf('%05d', i + {number}) || '{'a' * 695}' from n"
        variants = [{"rows": series(189 - each, text)} for each in range(4)]
        database = {
            "schema": "create table t(a integer primary key, b text)",
            "rows": series(190, text),
            "variants": variants,
        }
        task = {"type": "sql", "dialect": "sqlite", "gold": gold, "limits": limits}
        attacker.grade([{"completion": "select 1", "task": {**task, "database": database}}] * 4)

    return send


def databases(attacker):
    """Databases of a million rows, each for one item."""

    def send(number):
        rows = f"insert into t select i + {number} from n"
        database = {"schema": "create table t(a)", "rows": series(1_000_000, rows)}
        task = {"type": "sql", "dialect": "sqlite", "gold": "select count(*) from t"}
        attacker.grade([{"completion": "select 1", "task": {**task, "database": database}}])

    return send


def large_grade(attacker):
    """The path of a grade whose task has 32 MB."""
    tests = [{"stdin": "a" * 1_000_000, "stdout": "1"}] * GRADE_TESTS
    task = {"type": "code", "language": "python", "tests": tests}
    body = {"items": [{"completion": "no program", "task": task}]}
    reply = json.loads(attacker.post("/v1/grade", body))
    path = f"/v1/grades/{reply['results'][0]['grade']}"
    for _ in range(100):
        if attacker.request("GET", path)[0] == 200:
            return path
        time.sleep(0.1)
    raise SystemExit("a large grade does not appear in the record")


def unread_replies(attacker):
    """Reads of a large grade over HTTP/1, of which only the first bytes are taken."""
    path = large_grade(attacker)
    ask = f"GET {path} HTTP/1.1\r\n{attacker.fields_of_head()}\r\n"

    def send(_number):
        attacker.open()
        attacker.count(status_of(attacker.connect(ask.encode()).recv(64)))
        time.sleep(REFUSED_SECONDS)

    return send


def unread_streams(attacker):
    """The same over HTTP/2: many requests on a connection with a window of 0 bytes."""
    path = large_grade(attacker)
    fields = {":method": "GET", ":scheme": "http", ":path": path, ":authority": "a"}
    fields |= attacker.fields
    head = b"".join(b"\0" + sized(name) + sized(value) for name, value in fields.items())
    # Frames: settings with a window of 0, then the heads of requests.
    data = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HI", 4, 0))
    data += b"".join(frame(1, 5, 2 * index + 1, head) for index in range(UNREAD_REPLIES))

    def send(_number):
        attacker.open(UNREAD_REPLIES)
        connection = attacker.connect(data)
        connection.settimeout(2)
        answers = b""
        try:
            while part := connection.recv(65_536):
                answers += part
        except TimeoutError:
            pass
        while len(answers) >= 9:
            length = int.from_bytes(answers[:3], "big")
            if answers[3] == 1:
                # 0x88 is status 200 in the static table of HPACK.
                attacker.count(200 if answers[9:10] == b"\x88" else 429)
            answers = answers[9 + length :]

    return send


def channels(attacker):
    """A new channel for each item."""

    def send(number):
        names = (f"c{number}x{index}{'x' * 100}" for index in range(256))
        task = {"type": "text", "answer": "1"}
        attacker.grade([{"completion": "1", "channel": name, "task": task} for name in names])

    return send


def sign_ins(attacker):
    form = urllib.parse.urlencode({"key": attacker.key, "then": "/ui"}).encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return lambda _number: attacker.post("/ui/sign-in", form, headers)


def large_batches(attacker):
    """Batches of many ordinary math items."""
    return lambda number: attacker.grade(
        [
            {
                "completion": f"\\boxed{{{number} + \\frac{{{index}}}{{7}}}}",
                "task": {"type": "math", "answer": f"{index}/7"},
            }
            for index in range(20_000)
        ]
    )


def many_checks(attacker):
    """Items with as many checks as allowed."""

    def send(number):
        golds = (f"{number} + x^{{{index}}}" for index in range(CHECKS))
        checks = {f"c{i}": {"type": "math", "answer": gold} for i, gold in enumerate(golds)}
        item = {"completion": "\\boxed{x}", "task": {"type": "math", "answer": "x"}}
        attacker.grade([{**item, "checks": checks}] * 100)

    return send


def monsters(attacker):
    """Mathematics that is expensive to compare."""

    def send(number):
        rng = random.Random(number)
        attacker.grade([made.body["items"][0] for made in mathematics.make(rng, 64)])

    return send


# Threads that send at once, by attack.
ATTACKS = {
    template_rows: 2,
    patterns: 4,
    invalid_patterns: 4,
    schemas: 4,
    open_bodies: 2,
    endless_loops: 2,
    long_tests: 8,
    compilations: 8,
    run_code: 8,
    query_results: 4,
    databases: 8,
    unread_replies: 4,
    unread_streams: 1,
    channels: 4,
    sign_ins: 4,
    large_batches: 2,
    many_checks: 4,
    monsters: 4,
}
BY_NAME = {attack.__name__.replace("_", "-"): attack for attack in ATTACKS}


def run(name, port, key, source, counts, ready):
    """Attacks until the process is ended."""
    attack = BY_NAME[name]
    attacker = Attacker(port, key, source, counts)
    send = attack(attacker)
    numbers = itertools.count()

    def repeat():
        while True:
            try:
                send(next(numbers))
            except OSError:
                time.sleep(REFUSED_SECONDS)

    for _ in range(ATTACKS[attack]):
        threading.Thread(target=repeat, daemon=True).start()
    # So that every thread has sent something before the measurement.
    time.sleep(1)
    ready.set()
    threading.Event().wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the names and exit")
    parser.add_argument("name", choices=BY_NAME, nargs="?")
    parser.add_argument("port", type=int, nargs="?")
    parser.add_argument("--source", help="address from which to attack")
    options = parser.parse_args()
    if options.list:
        print(*BY_NAME, sep="\n")
        return
    counts = multiprocessing.Array("q", 3)
    run(options.name, options.port, None, options.source, counts, threading.Event())


if __name__ == "__main__":
    main()
