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
math itertools collections collections.abc heapq bisect functools re json random decimal fractions string datetime typing
dataclasses copy operator statistics time threading array struct enum abc contextlib textwrap pprint hashlib base64 zlib
inspect ast dis weakref cmath numbers queue secrets csv difflib graphlib unicodedata pickle calendar io os stat tokenize
token keyword codecs encodings.idna encodings.ascii encodings.latin_1 encodings.utf_16 warnings reprlib timeit hmac
traceback types builtins bisect sys atexit concurrent.futures concurrent.futures.thread asyncio unittest unittest.mock
doctest shlex fnmatch glob pathlib tempfile uuid locale platform
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


def up(handle):
    for name in MODULES:
        __import__(name)
    from . import eager, messages, system

    eager.install()
    system.install()
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D"))
    for text in SAMPLES * 8:
        compiled, blobs = messages.read(handle(messages.write({"op": "compile", "names": ["main.py"]}, text)))
        handle(messages.write({"op": "load", "module": "__main__"}, blobs[0]))
        handle(messages.write({"op": "main"}))
    # Programs see 64-bit Linux, although pointers have 32 bits here.
    sys.maxsize = (1 << 63) - 1
    sys.platform = "linux"
    sys.set_int_max_str_digits(4300)
    gc.collect()
    gc.freeze()
