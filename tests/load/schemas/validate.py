"""Validates documents with a package, which must be installed for the interpreter that runs this.

Reads a JSON object from standard input: {"package": "jsonschema" or "jsonschema_rs", "times": n,
"sets": [{"schema": …, "documents": [{"text": …, "valid": …}, …]}, …]}. Prints processor time of a
document in seconds, three times: of validating what is read, of reading and validating its text,
and of reading, checking and compiling the schema as well. Otherwise, schemas are compiled, and
checked, before the clock starts.
"""

import importlib
import json
import sys
import time


def compiler(package):
    """Compiles a schema after it is checked."""
    module = importlib.import_module(package)
    validator = module.Draft202012Validator

    def compile(schema):
        if package == "jsonschema":
            validator.check_schema(schema)
        else:
            module.meta.validate(schema)
        return validator(schema)

    return compile


def main():
    work = json.load(sys.stdin)
    compile = compiler(work["package"])
    pairs, schemas = [], []
    for one in work["sets"]:
        validator = compile(one["schema"])
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
            validator = compile(json.loads(text))
            assert validator.is_valid(json.loads(document)) == valid, document
    whole = (time.process_time() - begun) / times / len(pairs)
    print(validated / count, from_text / count, whole)


main()
