"""Prepares the interpreter once, before the snapshot of the image: imports modules, fills caches
and collects garbage.

Modules that are imported here are immediately available in every instance. Other modules of the
standard library are imported on demand.
"""

import _sitebuiltins
import builtins
import gc
import sys

MODULES = """
math itertools collections collections.abc heapq bisect functools re json random decimal fractions
string datetime typing dataclasses copy operator statistics time threading array struct enum abc
contextlib textwrap pprint hashlib base64 zlib inspect ast dis weakref cmath numbers queue secrets
csv difflib graphlib unicodedata pickle calendar io os stat tokenize token keyword codecs
encodings.idna encodings.ascii encodings.latin_1 encodings.utf_16 warnings reprlib timeit hmac
traceback types builtins bisect sys atexit concurrent.futures concurrent.futures.thread asyncio
unittest unittest.mock doctest shlex fnmatch glob pathlib tempfile uuid locale platform
""".split()

# Those of the packages, as far as the image contains them.
PACKAGES = """
sortedcontainers more_itertools toolz numpy numpy.linalg numpy.fft numpy.random numpy.ma
numpy.polynomial numpy.testing mpmath networkx sympy regex bitarray bitarray.util pytest
""".split()

# Programs that fill the caches that every program uses: those of the compiler, the formatter and
# the specializer.
SAMPLES = [
    b"import sys\nprint(sum(map(int, sys.stdin.read().split())))\n",
    b"n = 3\nfor i in range(n):\n    print(f'{i:>3}', end=' ')\nprint()\n",
    b"def f(x):\n    return [y * y for y in x if y % 2]\nprint(f(range(9)), {1: 'a'}, {2, 3}, (4.5,))\n",
    b"class A:\n    def __init__(self, x):\n        self.x = x\n    def __repr__(self):\n        return f'A({self.x})'\nprint(A(1))\n",
    b"try:\n    raise ValueError('x')\nexcept ValueError as error:\n    pass\n",
]

# The same for packages.
PACKAGE_SAMPLES = {
    "numpy": b"""
import numpy as np
a = np.arange(6.0).reshape(2, 3)
print(a.sum(), (a * 2 + 1)[0], a.mean(axis=0), np.sort(a)[:, ::-1], a.argsort(), a > 2)
print(np.unique([1, 2, 2]), np.where(a > 1), np.dot(a, a.T), np.allclose(a, a))
print(np.array([1, 2]) // 2, np.linalg.inv([[2.0, 1], [1, 3]]), np.fft.fft([1.0, 2, 3]))
print(np.random.default_rng(1).normal(size=2))
np.testing.assert_allclose([1.0], [1.0])
""",
    "sympy": b"import sympy\nx = sympy.Symbol('x')\nprint(sympy.solve(x**2 - 2, x), sympy.diff(x**2))\n",
    "networkx": b"import networkx as nx\nprint(nx.shortest_path(nx.path_graph(4), 0, 3))\n",
}

# A program and tests of it, so that the code that connects two instances is warm as well.
COMPILE_TEST = {"op": "compile_test"}
JUDGE = {"op": "judge", "module": "program"}
PROGRAM = b"def add(x, y=1):\n    return x + y\ndef ordered(x):\n    x.sort()\n    return x\n"
TESTS = [
    b"assert add(2) == 3\nassert add(2, y=3) == 5",
    b"assert ordered([3, 1, 2]) == [1, 2, 3]\nassert add('a', 'b') == 'ab'",
    b"def check(candidate):\n    assert candidate((1, 2), (3,)) == (1, 2, 3)\n    assert candidate(0.5) == 1.5\ncheck(add)",
]


def _run_tests(handle, code):
    """Runs tests with both ends of the connection in this instance, each with ends of its own."""
    from . import borrower, judge, messages, program, remote

    def answer(message):
        return program.answer_peer(*messages.read(message))

    exchange, modules = remote._exchange, dict(sys.modules)
    remote._exchange = answer
    # Its effects would be part of the snapshot, in which programs run too.
    isolate, judge.isolate = judge.isolate, lambda: None
    try:
        for text in TESTS:
            handle(messages.write({"op": "load", "module": "solution"}, code))
            handle(messages.write({"op": "main"}))
            _, (test, request) = messages.read(handle(messages.write(COMPILE_TEST, b"", text)))
            names = answer(request)
            reply, _ = messages.read(handle(messages.write(JUDGE, test, names, b"", text)))
            if reply["end"] != "finished":
                raise RuntimeError(f"a test of the warm-up failed: {reply}")
            judge.peer, program.peer = judge.Judge(), borrower.Borrower()
            del sys.modules[JUDGE["module"]]
        handle(messages.write({"op": "load", "module": "solution"}, code))
        handle(messages.write({"op": "main"}))
        handle(messages.write({"op": "call", "function": "ordered"}, b"[[3,1,2]]", b"{}"))
    finally:
        remote._exchange, judge.isolate = exchange, isolate
        program.loaded.clear()
        sys.modules.clear()
        sys.modules.update(modules)


# Objects that fill the gaps that the warm-up left in the allocator's pools.
_filling = []


def _fill_pools():
    """Fills gaps in pools, so that an instance allocates from few pages: each page that it writes
    to costs a page fault.
    """
    _filling.extend(object() for _ in range(4096))
    for size in range(32, 513, 16):
        _filling.extend(bytes(size - 17) for _ in range(65536 // size))


def up(handle):
    from . import eager, messages, packages, system, test_file

    for name in MODULES:
        __import__(name)
    # Programs see 64-bit Linux, although pointers have 32 bits here.
    sys.platform = "linux"
    eager.install()
    system.install()
    if "pytest" in packages.NAMES:
        test_file.prepare()
    for name in PACKAGES:
        if name.partition(".")[0] in packages.NAMES:
            __import__(name)
    packages.install()
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D"))
    compiled, blobs = messages.read(
        handle(messages.write({"op": "compile", "names": ["main.py"]}, PROGRAM))
    )
    for _ in range(8):
        _run_tests(handle, blobs[0])
    samples = [PACKAGE_SAMPLES[name] for name in PACKAGE_SAMPLES if name in packages.NAMES]
    for text in SAMPLES * 8 + samples * 2:
        compiled, blobs = messages.read(
            handle(messages.write({"op": "compile", "names": ["main.py"]}, text))
        )
        handle(messages.write({"op": "load", "module": "__main__"}, blobs[0]))
        handle(messages.write({"op": "main"}))
    sys.path.clear()
    sys.path_importer_cache.clear()
    # Not before numpy is imported, which derives constants from it.
    sys.maxsize = (1 << 63) - 1
    sys.set_int_max_str_digits(4300)
    gc.collect()
    _fill_pools()
    gc.freeze()
