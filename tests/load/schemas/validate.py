"""Validates documents with the package `jsonschema`, which must be installed for the interpreter
that runs this.

Reads a JSON object from standard input: {"times": n, "sets": [{"schema": …, "documents": [{"text":
…, "valid": …}, …]}, …]}. Prints processor time of a document in seconds, twice: of validating what
is read, and of reading and validating its text. Schemas are compiled, and checked, before the clock
starts.
"""

import json
import sys
import time

from jsonschema import Draft202012Validator


def main():
    work = json.load(sys.stdin)
    pairs = []
    for one in work["sets"]:
        Draft202012Validator.check_schema(one["schema"])
        validator = Draft202012Validator(one["schema"])
        for document in one["documents"]:
            pairs.append(
                (validator, json.loads(document["text"]), document["text"], document["valid"])
            )
    count = work["times"] * len(pairs)
    begun = time.process_time()
    for _ in range(work["times"]):
        for validator, value, _, valid in pairs:
            assert validator.is_valid(value) == valid, value
    validated = time.process_time() - begun
    begun = time.process_time()
    for _ in range(work["times"]):
        for validator, _, text, valid in pairs:
            assert validator.is_valid(json.loads(text)) == valid, text
    print(validated / count, (time.process_time() - begun) / count)


main()
