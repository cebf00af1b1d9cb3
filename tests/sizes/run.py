"""Prints the lines of Rust code of each crate, without blank ones: `run.py [ROOT]`, where ROOT is a
checkout of this repository, by default the one that contains this script.

The columns, of which a line counts in exactly one:

product   code that the crate consists of
doc       comments that begin with `///` or `//!`, in product files
comment   other comments, in product files
tests     folders and files called `tests`, and modules under `#[cfg(test)]`, with their comments
tools     examples, benchmarks, and the crates under `tests/` except their tests, with comments

Lines of raw strings that look like comments count as comments.
"""

import collections
import pathlib
import re
import subprocess
import sys

COLUMNS = ("product", "doc", "comment", "tests", "tools")
# A module of tests within a file ends at the first brace with the indentation of its `mod`.
INLINE_TESTS = re.compile(
    r"^( *)#\[cfg\(test\)\]\n(?:\1#\[.*\n)*\1(?:pub(?:\(\w+\))? )?mod \w+ \{\n(?:.*\n)*?\1\}\n", re.M
)
# A module of tests in a file of its own, which may be called otherwise.
TEST_MODULE = re.compile(r"^ *#\[cfg\(test\)\]\n(?: *#\[.*\n)* *(?:pub(?:\(\w+\))? )?mod (\w+);", re.M)


def listed(root, pattern):
    """The files of the repository whose name matches, by their path from the root."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--", pattern]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sorted(pathlib.PurePath(name) for name in names.split("\0") if name)


def crate_of(path, crates):
    """The folder of the crate that a file belongs to, or its top folder."""
    return next((folder for folder in path.parents if folder in crates), path.parents[-2])


def test_modules(path, text):
    """The files and folders of the modules under `#[cfg(test)]` that a file declares."""
    is_root = path.name in ("mod.rs", "lib.rs", "main.rs")
    folder = path.parent if is_root else path.with_suffix("")
    for name in TEST_MODULE.findall(text):
        yield folder / f"{name}.rs"
        yield folder / name


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def count(path, crate, text, is_test):
    """The lines of a file by column."""
    inside = path.relative_to(crate).parts
    if is_test or inside[0] == "tests" or "tests" in inside[:-1] or inside[-1] == "tests.rs":
        return {"tests": len(lines(text))}
    counts = collections.Counter(tests=sum(len(lines(m[0])) for m in INLINE_TESTS.finditer(text)))
    rest = lines(INLINE_TESTS.sub("", text))
    if inside[0] in ("examples", "benches"):
        counts["tools"] = len(rest)
    elif crate.parts[:1] == ("tests",):
        # The modules of the test suite lie beside `src`.
        is_suite = crate.parts == ("tests",) and inside[0] != "src"
        counts["tests" if is_suite else "tools"] += len(rest)
    else:
        for line in rest:
            doc = line.startswith(("///", "//!"))
            counts["doc" if doc else "comment" if line.startswith("//") else "product"] += 1
    return counts


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if len(sys.argv) > 1 else root.parents[2]
    # The manifest of the workspace is not one of a crate.
    crates = {path.parent for path in listed(root, "*/Cargo.toml")}
    texts = {path: (root / path).read_text() for path in listed(root, "*.rs")}
    declared = {module for path, text in texts.items() for module in test_modules(path, text)}
    sizes = collections.defaultdict(collections.Counter)
    for path, text in texts.items():
        crate = crate_of(path, crates)
        is_test = not declared.isdisjoint([path, *path.parents])
        sizes[str(crate)].update(count(path, crate, text, is_test))
    total = collections.Counter()
    for counts in sizes.values():
        total.update(counts)
    rows = sorted(sizes.items(), key=lambda row: (-row[1]["product"], row[0]))
    print("| crate | " + " | ".join(COLUMNS) + " |")
    print("|---|" + "---:|" * len(COLUMNS))
    for name, counts in [*rows, ("**all**", total)]:
        print(f"| {name} | " + " | ".join(f"{counts[column]:,}" for column in COLUMNS) + " |")


if __name__ == "__main__":
    main()
