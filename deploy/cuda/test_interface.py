"""Tests of the check of the interface of FlashAttention."""

import tempfile
import unittest
from pathlib import Path

import interface
from build_cache import BuildError


class Interface(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "src").mkdir()
            (Path(name) / "src" / "ffi.rs").write_text(text)
            interface.check(Path(name))

    def declaration(self, names):
        arguments = ",\n".join(f"        {name}: u32" for name in names)
        return f'extern "C" {{\n    pub(crate) fn run_mha(\n{arguments},\n    );\n}}\n'

    def test_accepts_the_expected_arguments(self):
        self.check(self.declaration(interface.ARGUMENTS))

    def test_rejects_arguments_in_another_order_and_other_functions(self):
        swapped = [*interface.ARGUMENTS]
        swapped[0], swapped[1] = swapped[1], swapped[0]
        other = "fn run_other(a: u32);"
        for text in (
            self.declaration(swapped),
            self.declaration(interface.ARGUMENTS[:-1]),
            self.declaration(interface.ARGUMENTS) + other,
            "",
        ):
            with self.assertRaises(BuildError):
                self.check(text)


if __name__ == "__main__":
    unittest.main()
