"""The error of the rule for syllables, on the dictionary of the package `syllapy`."""

import argparse
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default="python3", help="interpreter with `syllapy`")
    parser.add_argument("--binary", help="the example `syllables`, instead of running cargo")
    arguments = parser.parse_args()
    script = (
        "import syllapy\n"
        "for word, count in syllapy.WORD_DICT.items():\n"
        "    if word.isascii() and word.isalpha(): print(word, count)"
    )
    done = subprocess.run([arguments.python, "-c", script], capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    cargo = ["cargo", "run", "--quiet", "--locked", "--package", "assay-instructions", "--example", "syllables"]
    text = "".join(f"{word}\n" for word, _ in words)
    own = subprocess.run(
        [arguments.binary] if arguments.binary else cargo,
        input=text, capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout.split()
    wrong = [(word, count, mine) for (word, count), mine in zip(words, own) if count != mine]
    parity = sum(int(count) % 2 != int(mine) % 2 for (_, count), mine in zip(words, own))
    print(f"{len(words)} words, {len(wrong)} with another number ({100 * len(wrong) / len(words):.1f} %), {parity} with another parity")
    for word, count, mine in wrong[:: max(1, len(wrong) // 20)]:
        print(f"    {word}: {count}, here {mine}")


if __name__ == "__main__":
    main()
