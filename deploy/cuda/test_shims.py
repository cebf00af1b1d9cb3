"""Laws of the shims, on a library made for it: `python3 -m unittest discover --start-directory deploy/cuda`."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import shims
from kept import Failed

# As `cudarc` declares functions: one that returns a status, one a pointer, one nothing, one that came later.
DECLARED = """
        extern "C" {
            fn weigh(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, p: f64, q: f64, r: f64, s: f64,
                t: f64, u: f64, v: f64, w: f64, x: f64, sum: *mut f64) -> status_t;
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

# More arguments than registers hold, of both kinds; every one counts with a weight of its own.
WEIGH = "int weigh(long a, long b, long c, long d, long e, long f, long g, long h, double p, double q, double r, "
WEIGH += "double s, double t, double u, double v, double w, double x, double *sum)"

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
        int status = weigh(1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 1, 2, 4, 8, 16, 32, 64, 128, 256, &sum);
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

    def linked(self):
        """The caller, linked with the shim of what is declared."""
        shims.archive(self.library, self.declare(DECLARED), self.folder)
        caller = self.folder / "caller"
        command = ["cc", "-x", "c", "-", "-o", str(caller), f"-L{self.folder}", "-lreal", "-ldl", "-lpthread"]
        subprocess.run(command, input=CALLER, text=True, check=True)
        return caller

    def run_caller(self):
        done = subprocess.run([str(self.linked())], capture_output=True, text=True, check=True)
        return done.stdout.splitlines(), done.stderr.splitlines()

    def test_every_argument_reaches_the_library_on_the_first_call_and_after(self):
        command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(self.soname)]
        subprocess.run(command, input=REAL, text=True, check=True)
        printed, said = self.run_caller()
        # The weights of the integers are the digits; each of the nine floats comes to a half.
        self.assertEqual(printed, ["0 87654325.5 seven 42"] * 2)
        self.assertEqual(said, [f"CUDA too old: {self.soname} has no `later`"])

    def test_without_the_library_every_call_fails_and_one_line_says_why(self):
        printed, said = self.run_caller()
        self.assertEqual(printed, ["42 -1.0 null 42"] * 2)
        self.assertEqual(len(said), 1)
        self.assertIn(f"no CUDA: {self.soname}", said[0])

    def test_the_binary_needs_no_library_that_the_shim_opens(self):
        done = subprocess.run(["readelf", "--dynamic", str(self.linked())], capture_output=True, text=True, check=True)
        self.assertNotIn("libreal", done.stdout)

    def test_declarations_that_cannot_be_read_stop_the_build(self):
        with self.assertRaises(Failed):
            shims.entries(self.library, self.declare('unsafe extern "C" { fn weigh<T>() -> status_t; }'))


if __name__ == "__main__":
    unittest.main()
