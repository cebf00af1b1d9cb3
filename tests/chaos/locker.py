"""Holds a database locked, as a careless backup or a shell left open would: `BEGIN EXCLUSIVE`, and no end for some seconds.

usage: locker.py DATABASE SECONDS
"""
import sqlite3
import sys
import time


def main():
    # An empty database made here would be one the node did not make.
    connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=rw", uri=True, timeout=1, isolation_level=None)
    connection.execute("begin exclusive")
    print("locked", flush=True)
    time.sleep(float(sys.argv[2]))
    connection.execute("rollback")
    connection.close()


if __name__ == "__main__":
    main()
