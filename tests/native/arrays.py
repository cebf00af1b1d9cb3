#!/usr/bin/env python3
"""Compares numpy in the image `python-scientific` with a native numpy of the same version.

    python3 tests/native/arrays.py BIN [--native PYTHON] [--verbose]

BIN is the `assay` binary; its image `python-scientific` must be installed.
PYTHON is a native Python that has numpy 2.3.5, by default this one. Each
expression is evaluated in both. Types, shapes and values must be equal; where
values differ, they must agree within a relative difference of 1e-12, or
1e-5 for 32-bit floats. Exits with 1 if an expression differs that is not in
`DIFFERENT`.
"""

import argparse
import json
import subprocess
import sys

import grading

VERSION = "2.3.5"

# The program of the items, which the native Python runs as well.
PROGRAM = r'''
import math
import numpy as np

EXPRESSIONS = __EXPRESSIONS__

a = np.array([[3.5, -1.25, 2.0], [0.5, 4.0, -2.75], [1.0, 1.5, 9.25]])
b = np.arange(12).reshape(3, 4)
i = np.array([5, 3, 9, 1, 3, 7])
f = np.array([0.1, 0.2, 0.7, 1.5, 2.25])
m = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 1.5]])
t = np.array([True, False, True, True])
z = np.array([1 + 2j, -0.5 + 0.25j, 3 - 1j])
s = np.array(["pear", "fig", "apple", "fig"])
d = np.array(["2024-02-28", "2023-12-31", "2024-03-01"], dtype="datetime64[D]")


def plain(value):
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return str(value)


def described(value):
    """Type, shape and values."""
    if isinstance(value, (tuple, list)):
        return [described(part) for part in value]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, list(value.shape), plain(value.tolist())]
    if isinstance(value, np.generic):
        return [value.dtype.str, "scalar", plain(value.item())]
    return [type(value).__name__, plain(value)]


def evaluate(number):
    try:
        return described(eval(EXPRESSIONS[number]))
    except Exception as error:
        return [type(error).__name__]
'''

# Functions whose results are indices or counts: 64-bit integers.
INDICES = """
i.argsort()
np.argsort(f)[::-1]
np.argsort(s)
np.argmax(a)
np.argmax(a, axis=1)
np.argmin(b, axis=0, keepdims=True)
i.argpartition(2)[2]
np.nanargmax([1.0, np.nan, 3.0])
np.nonzero(i > 3)
np.flatnonzero(t)
np.argwhere(b % 5 == 0)
np.where(a > 1)
np.searchsorted([1, 3, 5], [0, 3, 6])
np.searchsorted([1, 3, 5], 4)
np.searchsorted([1, 3, 5], [3, 5], side="right")
np.digitize(f, [0.15, 1.0])
np.lexsort((i, -i))
np.count_nonzero(b)
np.count_nonzero(b > 3, axis=1)
np.bincount(i)
np.bincount([0, 1, 1], minlength=5)
np.bincount(np.array([], dtype=int))
np.bincount([1, 1, 2], weights=[0.5, 1.0, 2.0])
np.unravel_index(7, (3, 4))
np.unravel_index([7, 11], (3, 4))
np.ravel_multi_index(([1, 2], [3, 0]), (3, 4))
np.unique(i, return_index=True, return_inverse=True, return_counts=True)
np.unique(s, return_counts=True)
np.indices((2, 2))
np.tril_indices(3)
np.diag_indices(2)
np.ix_([0, 2], [1, 3])
np.intersect1d(i, [3, 5, 8], return_indices=True)
np.histogram(i, bins=3)
np.char.str_len(s)
np.char.find(s, "p")
np.char.count(s, "p")
np.strings.index(s, "i", 0, 2) if False else np.strings.rfind(s, "p")
np.ma.count(np.ma.array([1, 2, 3], mask=[0, 1, 0]))
np.cumsum(t)
np.sum(t)
np.prod(np.array([2, 3], dtype=np.int8))
np.sum(np.array([200, 100], dtype=np.uint8))
np.cumprod(np.array([2, 3], dtype=np.int32))
np.add.reduceat(np.arange(8), [0, 3, 5])
np.array([10**9] * 3).sum()
np.array([1, 2**40])
np.arange(5)
np.arange(2**33, 2**33 + 2)
np.zeros(2, dtype=int)
np.full(2, 7)
np.array([True, 2])
np.int_(5)
np.intp(5)
np.dtype(int).itemsize
np.dtype("intp").itemsize
np.iinfo(np.int_).max
np.random.default_rng(3).integers(0, 10, 4)
np.random.RandomState(3).randint(0, 10, 4)
np.random.RandomState(3).permutation(5)
np.random.default_rng(3).choice(10, 3, replace=False)
np.take(i, np.array([2**32]), mode="clip")
i[np.array([2**32])]
np.take(i, [0, 2])
np.choose([0, 1, 0], [[1, 2, 3], [4, 5, 6]])
np.repeat([1, 2], np.array([2, 3]))
np.put_along_axis(b.copy(), np.argmax(b, axis=1, keepdims=True), 0, axis=1)
np.take_along_axis(b, np.argsort(-b, axis=1), axis=1)
np.insert(i, 1, 99)
np.delete(i, [0, 2])
np.partition(i, 3)[3]
np.roll(b, 1, axis=0)
"""

VALUES = """
a + 1
a @ m
a * a - 2 * a
b // 3
b % 5
-b // 3
b ** 2
2.0 ** np.arange(4)
np.divide(b, 4)
a.sum()
a.mean(axis=0)
a.std(axis=1, ddof=1)
np.var(f)
np.median(a)
np.percentile(f, [10, 50, 90])
np.quantile(f, 0.3)
np.cumsum(f)
np.diff(i)
np.gradient(f)
np.convolve(f, [1, 0.5])
np.correlate(f, [1, 2, 3], "same")
np.dot(a, m)
np.inner(f, f)
np.outer(i, [1, 2])
np.kron([[1, 2]], [[1], [3]])
np.cross([1, 2, 3], [4, 5, 6])
np.trace(m)
np.einsum("ij,jk->ik", a, m)
np.tensordot(a, m, axes=1)
np.linalg.inv(m)
np.linalg.det(m)
np.linalg.solve(m, [1, 2, 3])
np.linalg.norm(a)
np.linalg.norm(a, axis=1)
np.linalg.eigvalsh(m)
np.abs(np.linalg.eigh(m)[1])
np.sort(np.linalg.eigvals(m).real)
np.linalg.svd(a, compute_uv=False)
np.linalg.cholesky(m)
np.linalg.matrix_rank(a)
np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 30)
np.linalg.lstsq(a, np.array([1.0, 2, 3]), rcond=None)[0]
np.linalg.pinv(a)
np.linalg.inv([[1.0, 2], [2, 4]])
np.abs(np.linalg.qr(m)[1])
np.linalg.slogdet(m)
np.linalg.cond(m)
np.fft.fft(f)
np.fft.ifft(np.fft.fft(f)).real
np.fft.rfft(np.arange(8.0))
np.fft.fft2(m)
np.fft.fftfreq(5, 0.1)
np.fft.fftshift(np.arange(5))
np.exp(f)
np.log(f)
np.sin(a)
np.arctan2(a, m)
np.sqrt(f)
np.cbrt(f)
np.tanh(a)
np.hypot(f, 2)
np.log1p(f)
np.sqrt(-f[:2])
np.log(np.array([0.0]))
np.array([1.0]) / 0
np.array([1]) // 0
np.float32(0.1) + np.float32(0.2)
np.array([0.1, 0.2], dtype=np.float32) * 3
np.exp(np.float32([0.5, 1.5]))
np.float64(0.1) + 0.2
np.int8(100) + np.int8(27)
np.array([250], dtype=np.uint8) + np.uint8(10)
np.array([1, 2], dtype=np.uint32) - 3
np.array([1.9, -1.9]).astype(int)
np.array([300.7]).astype(np.uint8) if False else np.array([30.7]).astype(np.uint8)
np.round(a, 1)
np.round(np.array([0.5, 1.5, 2.5]))
np.floor(a)
np.clip(a, 0, 2)
np.maximum(a, m)
np.fmin(a, 1)
np.sign(a)
np.isclose(0.1 + 0.2, 0.3)
np.allclose(a, a + 1e-9)
np.array_equal(b, b.copy())
np.isnan([1.0, np.nan])
np.nansum([1.0, np.nan, 2])
np.nanmean([1.0, np.nan, 2])
np.any(t), np.all(t)
np.logical_xor(t, [True, True, False, False])
np.bitwise_and(i, 6)
np.left_shift(1, np.arange(5))
np.invert(np.array([1, 2], dtype=np.int16))
np.gcd([12, 18], 8), np.lcm(4, [6, 10])
np.sort(a, axis=None)
np.sort(s)
np.unique(s)
np.union1d(i, [1, 2])
np.setdiff1d(i, [3, 7])
np.isin(i, [3, 9])
np.concatenate([i, [1]])
np.stack([f, f])
np.vstack([i, i]), np.hstack([i, i])
np.split(i, 3)
np.tile([1, 2], (2, 2))
np.pad([1, 2, 3], 2, mode="reflect")
np.flip(b, axis=1)
np.rot90(b)
np.transpose(b).shape
b.T[1:3, ::2]
b[b > 5]
b[[0, 2], [1, 3]]
b[..., -1]
np.broadcast_to([1, 2], (2, 2))
np.meshgrid([1, 2], [3, 4, 5])
np.linspace(0, 1, 5)
np.logspace(0, 3, 4)
np.geomspace(1, 1000, 4)
np.eye(3)[1]
np.tri(3)
np.vander([1, 2, 3])
np.interp([0.5, 2.5], [0, 1, 3], [10, 20, 40])
np.polyfit([0, 1, 2, 3], [1, 3, 7, 13], 2)
np.polyval([1, -2, 3], f)
np.roots([1, -6, 11, -6])
np.polynomial.Polynomial([1, 2, 3])(2.0)
np.polynomial.chebyshev.chebval(0.5, [1, 2, 3])
np.trapezoid(f)
np.apply_along_axis(sum, 1, b)
np.vectorize(lambda x: x * 2)(i)
np.fromiter((k * k for k in range(4)), dtype=int)
np.frombuffer(b"\\x01\\x02\\x03\\x04", dtype="<u2")
np.fromstring("1 2 3", sep=" ")
np.loadtxt(["1 2", "3 4"])
np.genfromtxt(["1,2", "3,"], delimiter=",")
z * z.conj()
np.abs(z), np.angle(z)
np.sqrt(np.array([-1 + 0j]))
z.real, z.imag
d.max() - d.min()
np.datetime_as_string(d)
d + np.timedelta64(1, "D")
np.busday_count("2024-01-01", "2024-02-01")
np.is_busday(d)
np.char.upper(s)
np.char.add(s, "!")
np.strings.replace(s, "p", "b")
np.strings.slice(s, 2)
np.strings.slice(s, None, None, -1)
np.array(["1.5", "2"]).astype(float)
repr(a)
str(b)
repr(np.array([1e-10, 1.0]))
repr(np.float64(2.5)), str(np.float32(0.1))
np.array2string(f, precision=2)
np.array([1, "a"]).dtype.kind
np.array([(1, 2.5)], dtype=[("x", int), ("y", float)])["y"]
np.random.default_rng(7).normal(size=3)
np.random.default_rng(7).random(3)
np.random.default_rng(7).shuffle(i.copy())
np.random.default_rng(7).permutation(6)
np.random.default_rng(7).poisson(4.5, 5)
np.random.default_rng(7).binomial(10, 0.3, 5)
np.random.default_rng(7).exponential(2.0, 3)
np.random.default_rng(7).gamma(2.5, size=3)
np.random.default_rng(7).multinomial(10, [0.2, 0.3, 0.5])
np.random.RandomState(7).rand(3)
np.random.RandomState(7).randn(3)
np.random.RandomState(7).choice(["a", "b", "c"], 4)
np.random.RandomState(7).binomial(10, 0.3, 5)
np.random.RandomState(7).poisson(4.5, 5)
np.random.RandomState(7).multinomial(10, [0.2, 0.3, 0.5])
np.random.RandomState(7).geometric(0.2, 5)
np.random.RandomState(7).hypergeometric(5, 7, 6, 4)
np.random.RandomState(7).beta(0.5, 2.0, 3)
np.cov(a)
np.corrcoef(a)
np.ma.array([1, 2, 3], mask=[0, 1, 0]).sum()
np.lib.stride_tricks.sliding_window_view(i, 3)
np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]])
np.piecewise(f, [f < 1, f >= 1], [0, lambda x: x * 2])
np.select([f < 0.5, f < 2], [1, 2], default=3)
np.matrix([[1, 2], [3, 4]]) * 2
np.longdouble(1) / 3
np.finfo(float).eps
np.dtype("l").itemsize
"""

# Expressions whose result may differ, with the reason.
DIFFERENT = {
    "np.longdouble(1) / 3": "a `long double` has 128 bits instead of 80",
    'np.dtype("l").itemsize': "C's `long` has 32 bits",
}


def expressions():
    return [line for text in (INDICES, VALUES) for line in text.splitlines() if line]


def program():
    return PROGRAM.replace("__EXPRESSIONS__", repr(expressions()))


def native(python):
    """The native results, in order."""
    code = program() + (
        "\nimport json, warnings\nwarnings.simplefilter('ignore')\n"
        f"assert np.__version__ == {VERSION!r}, np.__version__\n"
        "print(json.dumps([evaluate(number) for number in range(len(EXPRESSIONS))]))\n"
    )
    done = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        sys.exit(f"`{python}` needs numpy {VERSION}; pass one with `--native PYTHON`: {reason}")
    return json.loads(done.stdout)


def verdicts(binary, expected, tolerance):
    """Whether each expression has its expected result in the image."""
    tests = [
        {"call": "evaluate", "args": [number], "returns": value}
        for number, value in expected.items()
    ]
    task = grading.code_task(
        tests, score="fraction", float_tolerance=tolerance, image="python-scientific"
    )
    found = grading.grade(binary, [grading.item("arrays", program(), task)])["arrays"]
    results = (found.get("evidence") or {}).get("results") or []
    if len(results) != len(tests):
        raise grading.Unusable(grading.reason(found))
    return dict(zip(expected, (result[0] == "accepted" for result in results)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--native", default=sys.executable, help="a Python with numpy")
    parser.add_argument("--verbose", action="store_true", help="list all differences")
    options = parser.parse_args()
    lines = expressions()
    expected = dict(enumerate(native(options.native)))
    equal = verdicts(options.binary, expected, None)
    left = {number: expected[number] for number in expected if not equal[number]}
    is_short = {number: "float32" in lines[number] for number in left}
    close = {}
    for tolerance, short in ((1e-12, False), (1e-5, True)):
        some = {number: left[number] for number in left if is_short[number] == short}
        if some:
            close |= verdicts(options.binary, some, tolerance)
    different = [lines[number] for number in left if not close[number]]
    unknown = [line for line in different if line not in DIFFERENT]
    digits = [lines[number] for number in left if close[number]]
    print(
        f"{len(lines)} expressions: {len(lines) - len(left)} equal, "
        f"{len(digits)} with other last digits, {len(different)} different"
    )
    if options.verbose:
        for line in digits:
            print(f"  last digits: {line}")
    for line in different:
        print(f"  different: {line}" + (f" ({DIFFERENT[line]})" if line in DIFFERENT else ""))
    wrong_indices = [line for line in different if line in INDICES.splitlines()]
    print(f"{len(INDICES.split(chr(10))) - 2} expressions on indices, {len(wrong_indices)} wrong")
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main()
