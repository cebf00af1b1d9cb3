"""F1 and exact match of `text` beside the definition of SQuAD, on generated pairs."""

import argparse
import collections
import json
import pathlib
import random
import re
import string
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


def normalised(text):
    """Lower case, without punctuation, articles and extra white space, in this order."""
    text = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(?:a|an|the)\b", " ", text).split()


def scores(text, golds):
    def f1(own, gold):
        if not own or not gold:
            return float(own == gold)
        same = sum((collections.Counter(own) & collections.Counter(gold)).values())
        if same == 0:
            return 0.0
        precision, recall = same / len(own), same / len(gold)
        return 2 * precision * recall / (precision + recall)

    own = normalised(text)
    return (
        any(own == normalised(gold) for gold in golds),
        max(f1(own, normalised(gold)) for gold in golds),
    )


WORDS = "the a an The red car cars U.S.A. 3.5 1,000 don't – naïve São in of at Paris (Paris) well-known".split()


def pairs(count, seed):
    chance = random.Random(seed)
    for _ in range(count):
        gold = [chance.choice(WORDS) for _ in range(chance.randint(1, 6))]
        if chance.random() < 0.5:
            text = list(gold)
        else:
            text = [chance.choice(WORDS) for _ in range(chance.randint(1, 6))]
        for _ in range(chance.randint(0, 2)):
            text.insert(chance.randint(0, len(text)), chance.choice(WORDS))
        other = [chance.choice(WORDS) for _ in range(chance.randint(1, 3))]
        yield " ".join(text), [" ".join(gold), " ".join(other)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", help="the example `squad`, instead of running cargo")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generated = list(pairs(arguments.count, arguments.seed))
    lines = "".join(json.dumps({"answer": text, "golds": golds}) + "\n" for text, golds in generated)
    cargo = ["cargo", "run", "--quiet", "--locked", "--package", "assay-text", "--example", "squad"]
    command = [arguments.binary] if arguments.binary else cargo
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, cwd=ROOT, check=True
    )
    different = 0
    for (text, golds), line in zip(generated, done.stdout.splitlines(), strict=True):
        exact, f1 = scores(text, golds)
        result = json.loads(line)
        own = result["f1"]
        if result["exact"] != exact or own is None or abs(own - f1) > 1e-12:
            different += 1
            print(f"{text!r} {golds!r}: {exact} {f1}, here {result}")
    print(f"{len(generated)} pairs, {different} with another exact match or F1")
    raise SystemExit(different > 0)


if __name__ == "__main__":
    main()
