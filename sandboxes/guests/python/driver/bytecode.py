"""Determines which names a test uses and sets, in one pass over its bytecode."""

from . import isolation

isolation.own_builtins(globals())

import opcode  # noqa: E402
import types  # noqa: E402

_OP = opcode.opmap
_EXTENDED = _OP["EXTENDED_ARG"]
_LOADS = {_OP["LOAD_NAME"]: 0, _OP["LOAD_GLOBAL"]: 1, _OP["LOAD_FROM_DICT_OR_GLOBALS"]: 0}
_ATTRIBUTE = _OP["LOAD_ATTR"]
_STORES = (_OP["STORE_NAME"], _OP["STORE_GLOBAL"])
_STORE_ATTRIBUTE = _OP["STORE_ATTR"]
IMPORTS = (_OP["IMPORT_NAME"], _OP["IMPORT_FROM"])


class Names:
    """Names and strings in all code objects of a test."""

    def __init__(self, parts):
        (
            self.codes,
            # Every name, attributes included.
            self.all,
            # Names loaded from the module or the builtins, and names set there.
            self.loaded,
            self.stored,
            self.stored_attributes,
            # Loaded names of which an attribute is used, as in `math.isclose`.
            self.looked_into,
            self.strings,
            # Parameters of functions: in a pytest file, the names of fixtures.
            self.parameters,
        ) = parts

    def parts(self):
        """The arguments of the constructor, which `marshal` can write."""
        return (
            self.codes,
            self.all,
            self.loaded,
            self.stored,
            self.stored_attributes,
            self.looked_into,
            self.strings,
            self.parameters,
        )

    @classmethod
    def of(cls, codes):
        names = cls((codes, *(set() for _ in range(7))))
        for code in codes:
            names._read(code, code)
        return names

    def _read(self, code, module):
        names = code.co_names
        self.all.update(names)
        self.parameters.update(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        # In the body of a class, `STORE_NAME` sets attributes of the class.
        stores = _STORES if code is module else _STORES[1:]
        text, extended, last = code.co_code, 0, None
        for index in range(0, len(text) if names else 0, 2):
            operation, argument = text[index], text[index + 1] | extended
            if operation == 0:
                continue
            if operation == _EXTENDED:
                extended = argument << 8
                continue
            extended = 0
            if operation == _ATTRIBUTE:
                if last is not None:
                    self.looked_into.add(last)
                last = None
            elif operation in _LOADS:
                last = names[argument >> _LOADS[operation]]
                self.loaded.add(last)
                continue
            elif operation in stores:
                self.stored.add(names[argument])
            elif operation == _STORE_ATTRIBUTE:
                self.stored_attributes.add(names[argument])
            last = None
        for constant in code.co_consts:
            if type(constant) is types.CodeType:
                self._read(constant, module)
            elif type(constant) is str and len(constant) < 200:
                self.strings.add(constant)
            elif type(constant) is tuple:
                # The names of keyword arguments, for example.
                self.strings.update(part for part in constant if type(part) is str)


def loaded_until(code, last):
    """Names that code has loaded when it is at an offset, attributes included."""
    names, extended = set(), 0
    for index in range(0, min(last + 2, len(code.co_code)), 2):
        operation, argument = code.co_code[index], code.co_code[index + 1] | extended
        extended = argument << 8 if operation == _EXTENDED else 0
        if operation in _LOADS:
            names.add(code.co_names[argument >> _LOADS[operation]])
        elif operation == _ATTRIBUTE:
            names.add(code.co_names[argument >> 1])
    return names


def functions_of(codes):
    """All code objects inside code objects, by name."""
    found, left = {}, list(codes)
    while left:
        for constant in left.pop().co_consts:
            if type(constant) is types.CodeType:
                found.setdefault(constant.co_name, []).append(constant)
                left.append(constant)
    return found


def imports_at(frame_code, index):
    """Whether the instruction at an offset belongs to an import statement."""
    return frame_code.co_code[index] in IMPORTS
