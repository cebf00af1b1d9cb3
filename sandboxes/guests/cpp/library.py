"""The library module, which is linked once and shared by all programs, and what programs are linked
against: the addresses of its data and the names of its functions.
"""

from pathlib import Path
from typing import NamedTuple

import objects
from libc import TARGET
from toolchain import Failed, Unit

# Size of the stack, which is below the data: overflow traps. A million frames of 128 bytes fit.
STACK_BYTES = 128 << 20
# Largest memory that the module declares. The host removes it, and limits the memory of each run.
MEMORY_BYTES = 2 << 30
PAGE = 65536

TAGS = ("__cpp_exception", "__c_longjmp")

# The export for the host, and the name of its function, which is not exported.
INITIALIZE = ("_initialize", "assay_construct")

ASSEMBLER = ("--target=wasm64-wasip1", "-mexception-handling")


class Library(NamedTuple):
    """The module, and the files and numbers for linking programs."""

    module: bytes
    addresses: bytes
    start: bytes
    start_with_calls: bytes
    functions: str
    table_base: int
    global_base: int


def link(steps, linked, scratch, exports):
    """Links the objects with these exports, and returns the module."""
    output = scratch / "library.wasm"
    options = [
        "-m",
        "wasm64",
        "--no-entry",
        "--no-gc-sections",
        "--fatal-warnings",
        "--strip-debug",
        "--export-table",
        "--growable-table",
        "--stack-first",
        "-z",
        f"stack-size={STACK_BYTES}",
        f"--max-memory={MEMORY_BYTES}",
        "--export=__stack_pointer",
        *(f"--export={name}" for name in [*TAGS, *sorted(exports)]),
        *map(str, linked),
        "-o",
        str(output),
    ]
    arguments = scratch / "link.txt"
    arguments.write_text("\n".join(options))
    steps.run([str(steps.zig), "wasm-ld", f"@{arguments}"], "linking the library")
    return output.read_bytes()


def build(steps, linked, scratch):
    """Links the library. A first link with all data symbols as exports tells their addresses. The
    module that is used has none of these exports, and the same layout.
    """
    linked = [*linked, steps.clang(Unit("tag.s", own=True), ASSEMBLER)]
    functions, sizes = set(), {}
    for path in linked:
        for symbol in objects.symbols(Path(path).read_bytes()):
            if symbol.local() or not symbol.defined():
                continue
            if symbol.kind == objects.FUNCTION:
                functions.add(symbol.name)
            elif symbol.kind == objects.DATA:
                sizes.setdefault(symbol.name, symbol.size)
    with_data = objects.layout_of(link(steps, linked, scratch, functions | set(sizes)))
    module = link(steps, linked, scratch, functions)
    layout = objects.layout_of(module)
    if (layout.pages, layout.table_size) != (with_data.pages, with_data.table_size):
        raise Failed("the exports changed the layout of the library")
    addresses = [
        objects.Address(name, address, sizes[name])
        for name, address in sorted(with_data.data.items())
        if name in sizes
    ]
    base = layout.pages * PAGE
    names = sorted(set(layout.functions) - set(INITIALIZE))

    def start(*flags):
        unit = Unit("start.c", flags, own=True)
        return steps.clang(unit, TARGET + ("-isystem", "builtin")).read_bytes()

    return Library(
        module=module,
        addresses=objects.object_of_addresses(addresses, base),
        start=start(),
        start_with_calls=start("-DCALLS"),
        functions="".join(f"{name}\n" for name in [*names, *TAGS]),
        table_base=layout.table_size,
        global_base=base,
    )
