"""Tests of the shims with a small library.

Run them with `python3 -m unittest discover --start-directory deploy/cuda`.
"""

import subprocess
import tempfile
import unittest
from pathlib import Path

import shims
from build_cache import BuildError

# Declarations in the form of `cudarc`: functions that return a status, a pointer and nothing, and
# one that the real library lacks.
DECLARED = """
        extern "C" {
            fn weigh(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, p: f64,
                q: f64, r: f64, s: f64, t: f64, u: f64, v: f64, w: f64, x: f64,
                sum: *mut f64) -> status_t;
        }
        extern "C" {
            fn describe(status: status_t) -> *const ::core::ffi::c_char;
        }
        extern "C" {
            fn forget();
        }
        extern "C" {
            fn later() -> status_t;
        }
"""

# More integer and floating-point arguments than fit in registers, each with a different weight.
WEIGH = "int weigh(long a, long b, long c, long d, long e, long f, long g, long h, double p, "
WEIGH += "double q, double r, double s, double t, double u, double v, double w, double x, "
WEIGH += "double *sum)"

REAL = f"""
{WEIGH}
{{
    *sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h
        + p / 2 + q / 4 + r / 8 + s / 16 + t / 32 + u / 64 + v / 128 + w / 256 + x / 512;
    return 0;
}}
const char *describe(int status) {{ return status == 7 ? "seven" : "other"; }}
void forget(void) {{}}
"""

CALLER = f"""
#include <stdio.h>
{WEIGH};
const char *describe(int status);
void forget(void);
int later(void);

int main(void)
{{
    double sum = -1;
    for (int call = 0; call < 2; call++) {{
        int status = weigh(1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
            1, 2, 4, 8, 16, 32, 64, 128, 256, &sum);
        const char *text = describe(7);
        forget();
        printf("%d %.1f %s %d\\n", status, sum, text == NULL ? "null" : text, later());
    }}
}}
"""


class Shims(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.soname = self.folder / "libreal.so.1"
        self.library = shims.Library("real", "real", str(self.soname), "status_t", 42)

    def declare(self, text):
        module = self.folder / "cudarc-1" / "src" / "real" / "sys" / "mod.rs"
        module.parent.mkdir(parents=True)
        module.write_text(text)
        return self.folder / "cudarc-1"

    def build_caller(self):
        """Builds a caller that is linked with the shim of the declared functions."""
        shims.archive(self.library, self.declare(DECLARED), self.folder)
        caller = self.folder / "caller"
        command = [
            "cc",
            "-x",
            "c",
            "-",
            "-o",
            str(caller),
            f"-L{self.folder}",
            "-lreal",
            "-ldl",
            "-lpthread",
        ]
        subprocess.run(command, input=CALLER, text=True, check=True)
        return caller

    def run_caller(self):
        completed = subprocess.run(
            [str(self.build_caller())], capture_output=True, text=True, check=True
        )
        return completed.stdout.splitlines(), completed.stderr.splitlines()

    def test_forwards_all_arguments_on_every_call(self):
        command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(self.soname)]
        subprocess.run(command, input=REAL, text=True, check=True)
        stdout, stderr = self.run_caller()
        # The weights of the integers become the digits. Each of the nine floats contributes one
        # half.
        self.assertEqual(stdout, ["0 87654325.5 seven 42"] * 2)
        self.assertEqual(stderr, [f"CUDA too old: {self.soname} has no `later`"])

    def test_reports_a_missing_library_once_and_fails_every_call(self):
        stdout, stderr = self.run_caller()
        self.assertEqual(stdout, ["42 -1.0 null 42"] * 2)
        self.assertEqual(len(stderr), 1)
        self.assertIn(f"no CUDA: {self.soname}", stderr[0])

    def test_binary_does_not_depend_on_the_real_library(self):
        completed = subprocess.run(
            ["readelf", "--dynamic", str(self.build_caller())],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertNotIn("libreal", completed.stdout)

    def test_rejects_declarations_in_an_unknown_form(self):
        with self.assertRaises(BuildError):
            shims.entries(
                self.library, self.declare('unsafe extern "C" { fn weigh<T>() -> status_t; }')
            )


if __name__ == "__main__":
    unittest.main()
