#!/usr/bin/env python3
"""Compares recording on PostgreSQL with recording on SQLite: starts a server, runs `assay-measure
load` with it, and prints what the server wrote and held for 1,000 grades.

usage: postgres.py PATH/TO/assay-measure [ARGUMENTS OF load..]
"""

import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "chaos"))

import nodes  # noqa: E402, its server

CONNECTIONS = "select count(*) from pg_stat_activity where backend_type = 'client backend'"


def most_connections(server, ended):
    """The most connections at once, without the one that asks."""
    most = 0
    while not ended.wait(0.2):
        most = max(most, int(server.query(CONNECTIONS)) - 1)
    return most


def main():
    measure, *arguments = sys.argv[1:] or sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="assay-postgres-") as folder:
        server = nodes.Server(folder)
        ended, found = threading.Event(), []
        watcher = threading.Thread(target=lambda: found.append(most_connections(server, ended)))
        try:
            began = server.query("select pg_current_wal_lsn()")
            watcher.start()
            done = subprocess.run([measure, "load", "--postgres", server.url, *arguments])
            ended.set()
            watcher.join()
            wal = int(server.query(f"select pg_current_wal_lsn() - '{began}'::pg_lsn"))
            thousands = int(server.query("select count(*) from grades")) / 1_000
            size = int(server.query("select pg_database_size('assay')"))
            print(f"a thousand grades: {wal / thousands:,.0f} bytes of WAL, ", end="")
            print(f"{size / thousands:,.0f} bytes of the database; {found[0]} connections at most")
        finally:
            ended.set()
            server.stop()
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
