"""Validates documents with the package `jsonschema`, which must be installed for the interpreter
that runs this.

Reads a JSON object from standard input: {"times": n, "sets": [{"schema": …, "documents": [{"text":
…, "valid": …}, …]}, …]}. Prints processor time of a document in seconds, three times: of validating
what is read, of reading and validating its text, and of reading, checking and compiling the schema
as well. Otherwise, schemas are compiled, and checked, before the clock starts.
"""

import json
import sys
import time

from jsonschema import Draft202012Validator


def main():
    work = json.load(sys.stdin)
    pairs, schemas = [], []
    for one in work["sets"]:
        Draft202012Validator.check_schema(one["schema"])
        validator = Draft202012Validator(one["schema"])
        for document in one["documents"]:
            pairs.append(
                (validator, json.loads(document["text"]), document["text"], document["valid"])
            )
            schemas.append(json.dumps(one["schema"]))
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
    from_text = time.process_time() - begun
    times = -(-work["times"] // 20)
    begun = time.process_time()
    for _ in range(times):
        for text, (_, _, document, valid) in zip(schemas, pairs):
            schema = json.loads(text)
            Draft202012Validator.check_schema(schema)
            assert Draft202012Validator(schema).is_valid(json.loads(document)) == valid, document
    whole = (time.process_time() - begun) / times / len(pairs)
    print(validated / count, from_text / count, whole)


main()
