"""Verdicts of the published checkers: reads rows as JSON lines and prints a verdict for each
instruction, `true`, `false` or `null` if the checker fails."""

import json
import sys


def registries():
    found = {}
    for name in ("if_verifiable.ifeval", "if_verifiable.ifbench"):
        try:
            module = __import__(f"{name}.instructions_registry", fromlist=["INSTRUCTION_DICT"])
        except Exception as error:
            print(f"{name} cannot be imported: {error}", file=sys.stderr)
            continue
        found.update(module.INSTRUCTION_DICT)
    return found


def verdict(checkers, name, arguments, response):
    if name not in checkers or not response.strip():
        return None if name not in checkers else False
    try:
        checker = checkers[name](name)
        given = {key: value for key, value in (arguments or {}).items() if value is not None}
        checker.build_description(**given)
        return bool(checker.check_following(response))
    except Exception:
        return None


def main():
    checkers = registries()
    for line in sys.stdin:
        row = json.loads(line)
        pairs = zip(row["instruction_id_list"], row["kwargs"])
        print(json.dumps([verdict(checkers, name, arguments, row["response"]) for name, arguments in pairs]))


if __name__ == "__main__":
    main()
