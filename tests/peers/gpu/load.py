"""A thousand clients that score at once while the model is replaced."""

import http.client
import threading
import time

from bits import MODEL, write_case

REQUESTS = 4

# Problems that are reported; more of the same say no more.
MOST_PROBLEMS = 5


def run(options, folder, report, deadline):
    """One row. Replies other than 200 and 429 fail, and scores that depend on load."""
    write_case(options, folder)
    with options.start() as service:
        row, problems = measure(options, service, deadline)
    report.row(row)
    for problem in problems[:MOST_PROBLEMS]:
        report.problem(problem)


def measure(options, service, deadline):
    clients = 50 if options.small else 1_000
    service.load("load", MODEL)
    inputs = [{"ids": [20 + (at * 7) % 300 for at in range(length)]} for length in (30, 200)]
    wanted = [result["raw"] for result in service.score("load", inputs)]
    lock, times, problems, versions = threading.Lock(), [], [], set()
    rejected = 0

    def client():
        nonlocal rejected
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
        for _ in range(REQUESTS):
            if deadline.is_over():
                break
            begun = time.perf_counter()
            try:
                status, reply = service.reply(
                    "POST", "/v1/reward-models/load/score", {"items": inputs}, connection
                )
            except OSError as error:
                status, reply = None, str(error)
            with lock:
                times.append(time.perf_counter() - begun)
                if status == 429:
                    rejected += 1
                elif status != 200:
                    problems.append(f"status {status}: {reply}")
                elif [result["raw"] for result in reply["results"]] != wanted:
                    problems.append(f"scores differ under load: {reply['results']}")
                else:
                    versions.add(reply["version"])
        connection.close()

    begun = time.perf_counter()
    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    reloads = 0
    while any(thread.is_alive() for thread in threads):
        service.load("load", MODEL)
        reloads += 1
        if deadline.is_over():
            break
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    times.sort()
    row = {
        "clients": clients,
        "requests": len(times),
        "requests/s": f"{len(times) / seconds:.0f}",
        "rejected": rejected,
        "reloads": reloads,
        "versions": len(versions),
        "median ms": f"{1e3 * times[len(times) // 2]:.0f}",
        "p99 ms": f"{1e3 * times[len(times) * 99 // 100]:.0f}",
    }
    if not versions:
        problems.append("no request was served")
    return row, problems
