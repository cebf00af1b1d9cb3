"""Locks a database for some seconds with `BEGIN EXCLUSIVE`, as a careless backup or an open shell
would.

usage: locker.py DATABASE SECONDS
"""

import sqlite3
import sys
import time


def main():
    # Must not create the database: the node does.
    connection = sqlite3.connect(
        f"file:{sys.argv[1]}?mode=rw", uri=True, timeout=1, isolation_level=None
    )
    connection.execute("begin exclusive")
    print("locked", flush=True)
    time.sleep(float(sys.argv[2]))
    connection.execute("rollback")
    connection.close()


if __name__ == "__main__":
    main()
