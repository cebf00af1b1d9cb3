"""Evaluates pairs of queries as Text-to-SQL benchmarks do: connect, run both, compare the sets of
their rows.

Reads a JSON object from standard input: {"script": …, "pairs": [[prediction, gold], …], "times":
n}. Prints the processor time of a pair in seconds.
"""

import json
import os
import sqlite3
import sys
import tempfile
import time


def is_right(path, prediction, gold):
    connection = sqlite3.connect(path)
    cursor = connection.cursor()
    cursor.execute(prediction)
    found = cursor.fetchall()
    cursor.execute(gold)
    wanted = cursor.fetchall()
    connection.close()
    return set(found) == set(wanted)


def main():
    work = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pairs.sqlite")
        connection = sqlite3.connect(path)
        connection.executescript(work["script"])
        connection.close()
        begun = time.process_time()
        for _ in range(work["times"]):
            for prediction, gold in work["pairs"]:
                assert is_right(path, prediction, gold), prediction
        print((time.process_time() - begun) / (work["times"] * len(work["pairs"])))


main()
