"""Reads the symbols of WebAssembly objects and modules, and writes objects that only define
symbols.

The format is that of LLVM's linker: the custom sections `linking` and `name` (Tool conventions,
`Linking.md`), and the sections of the core specification.
"""

from typing import NamedTuple

MAGIC = b"\0asm\1\0\0\0"
CUSTOM, IMPORTS, TABLES, MEMORIES, GLOBALS, EXPORTS, DATA_SEGMENTS = 0, 2, 4, 5, 6, 7, 11
SEGMENT_INFO, SYMBOL_TABLE = 5, 8
FUNCTION, DATA, GLOBAL, SECTION, TAG, TABLE = 0, 1, 2, 3, 4, 5

WEAK = 0x01
LOCAL = 0x02
HIDDEN = 0x04
UNDEFINED = 0x10
EXPLICIT_NAME = 0x40
ABSOLUTE = 0x200


class Symbol(NamedTuple):
    """A symbol of an object. `size` is that of a defined data symbol."""

    name: str
    kind: int
    flags: int
    size: int = 0

    def defined(self):
        return not self.flags & UNDEFINED

    def local(self):
        return bool(self.flags & LOCAL)

    def weak(self):
        return bool(self.flags & WEAK)


class Reader:
    def __init__(self, data, start=0, end=None):
        self.data = data
        self.at = start
        self.end = len(data) if end is None else end

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        """An unsigned or signed LEB128 number, as unsigned."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value

    def text(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def limits(self):
        flags = self.number()
        self.number()
        if flags & 1:
            self.number()

    def part(self):
        """A reader of the next part, which is preceded by its size."""
        size = self.number()
        self.at += size
        return Reader(self.data, self.at - size, self.at)


def sections(data):
    """Pairs of an identifier and a reader. That of a custom section is its name."""
    if data[:8] != MAGIC:
        raise ValueError("not a WebAssembly file")
    reader = Reader(data, 8)
    while reader.at < reader.end:
        kind = reader.byte()
        content = reader.part()
        yield (content.text() if kind == CUSTOM else kind), content


class Import(NamedTuple):
    module: str
    name: str
    kind: int


def read_imports(reader):
    found = []
    for _ in range(reader.number()):
        module, name, kind = reader.text(), reader.text(), reader.byte()
        if kind == 0:
            reader.number()
        elif kind == 1:
            reader.byte()
            reader.limits()
        elif kind == 2:
            reader.limits()
        elif kind == 3:
            reader.byte()
            reader.byte()
        else:
            reader.byte()
            reader.number()
        found.append(Import(module, name, kind))
    return found


def symbols(data):
    """The symbols of an object. A symbol without a name has that of its import."""
    imports = []
    for kind, reader in sections(data):
        if kind == IMPORTS:
            imports = read_imports(reader)
        elif kind == "linking":
            reader.number()
            while reader.at < reader.end:
                part_kind = reader.byte()
                part = reader.part()
                if part_kind == SYMBOL_TABLE:
                    return list(read_symbols(part, imports))
    return []


# The kind of an import for each kind of symbol.
IMPORT_KINDS = {FUNCTION: 0, TABLE: 1, GLOBAL: 3, TAG: 4}


def read_symbols(reader, imports):
    for _ in range(reader.number()):
        kind, flags = reader.byte(), reader.number()
        if kind == DATA:
            name, size = reader.text(), 0
            if not flags & UNDEFINED:
                reader.number()
                reader.number()
                size = reader.number()
            yield Symbol(name, kind, flags, size)
        elif kind == SECTION:
            reader.number()
        else:
            index = reader.number()
            if not flags & UNDEFINED or flags & EXPLICIT_NAME:
                name = reader.text()
            else:
                same = [item for item in imports if item.kind == IMPORT_KINDS[kind]]
                name = same[index].name
            yield Symbol(name, kind, flags)


def members(data):
    """The members of a static library: pairs of a name and the content."""
    if data[:8] != b"!<arch>\n":
        raise ValueError("not a static library")
    at, names = 8, b""
    while at < len(data):
        name = data[at : at + 16].decode().rstrip()
        size = int(data[at + 48 : at + 58])
        content = data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
        if name == "//":
            names = content
        elif name not in ("/", "/SYM64/"):
            if name.startswith("/"):
                start = int(name[1:])
                name = names[start : names.index(b"/\n", start)].decode()
            yield name.rstrip("/"), content


def leb(value):
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if not value:
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


def text(value):
    data = value.encode()
    return leb(len(data)) + data


def sized(data):
    return leb(len(data)) + data


def section(kind, content):
    if isinstance(kind, str):
        return b"\0" + sized(text(kind) + content)
    return bytes((kind,)) + sized(content)


class Address(NamedTuple):
    """Where a data symbol is in memory."""

    name: str
    address: int
    size: int


def object_of_addresses(addresses, base):
    """An object for 64-bit WebAssembly that defines data symbols at fixed addresses. They are weak,
    so a program may define symbols of the same names.

    The linker adds the address of a symbol's segment even if the symbol is absolute. All symbols
    are therefore in an empty segment, which the linker places at `base`: it is in the first
    section, and the object must be the first one that is linked.
    """
    # The import of a 64-bit memory, without which the object would be one for 32 bits.
    memory = leb(1) + text("env") + text("__linear_memory") + b"\2\4" + leb(0)
    segment = b"\0\x42\0\x0b" + sized(b"")
    entries = [
        bytes((DATA,)) + leb(WEAK | ABSOLUTE) + text(item.name) + leb(0)
        + leb((item.address - base) % (1 << 64)) + leb(item.size)
        for item in addresses
    ]
    table = leb(len(entries)) + b"".join(entries)
    segments = leb(1) + text(".rodata.linked") + leb(4) + leb(0)
    linking = leb(2) + bytes((SEGMENT_INFO,)) + sized(segments)
    linking += bytes((SYMBOL_TABLE,)) + sized(table)
    return (
        MAGIC
        + section(IMPORTS, memory)
        + section(DATA_SEGMENTS, leb(1) + segment)
        + section("linking", linking)
    )


def read_limits(reader):
    """The flags and the minimum."""
    flags, minimum = reader.number(), reader.number()
    if flags & 1:
        reader.number()
    return flags, minimum


class Layout(NamedTuple):
    """What a module exports, and the sizes on which programs are linked."""

    functions: tuple
    data: dict
    table_size: int
    pages: int


def layout_of(module):
    """The layout of a linked library, whose data symbols are exported as constant globals."""
    functions, exported, values, table_size, pages = [], {}, [], 0, 0
    for kind, reader in sections(module):
        if kind == TABLES:
            reader.number()
            reader.byte()
            table_size = read_limits(reader)[1]
        elif kind == MEMORIES:
            reader.number()
            pages = read_limits(reader)[1]
        elif kind == GLOBALS:
            for _ in range(reader.number()):
                reader.byte()
                reader.byte()
                reader.byte()
                values.append(reader.signed())
                reader.byte()
        elif kind == EXPORTS:
            for _ in range(reader.number()):
                name, what, index = reader.text(), reader.byte(), reader.number()
                if what == 0:
                    functions.append(name)
                elif what == 3:
                    exported[name] = index
    data = {name: values[index] for name, index in exported.items()}
    return Layout(tuple(functions), data, table_size, pages)
