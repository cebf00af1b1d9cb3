# Programs that change much of the interpreter and end so that the instance can be restored.
# Cells are separated by `# %%`. `N` is a number below 1,000 that differs between runs.
# %%
import random
r = random.Random(N)
a = bytearray(1 << 20)
for _ in range(200 + N):
    a[r.randrange(len(a))] = 255
# %%
b = [bytearray(r) for r in range(1, 2000, 7)]
del b[::2]
c = [str(i) * 9 for i in range(N)]
# %%
d = {str(i): [i] * (i % 20) for i in range(N)}
for i in range(0, N, 3):
    del d[str(i)]
# %%
text = "".join(chr(0x4E00 + i) for i in range(20 * N))
print(len(text.encode()))
# %%
x = 3 ** (20 * N + 1)
y = x * x
print(y % 1000007)
# %%
import builtins
builtins.len = lambda _: N
builtins.print = None
builtins.mark = [N]
del builtins.sorted
# %%
import json
import sys
sys.modules["mark"] = json
for name in list(sys.modules)[:N]:
    sys.modules.pop(name)
# %%
import collections
import math
import sys
math.pi = N
collections.Counter.update = None
sys.path[:] = ["N"]
sys.stdout = None
# %%
import gc
import sys
gc.set_threshold(N + 1)
gc.freeze()
sys.setrecursionlimit(2000 + N)
sys.setswitchinterval(N / 100 + 0.001)
sys.intern("N" * 50 + str(N))
# %%
import decimal
import logging
import random
import warnings
random.seed(N)
decimal.getcontext().prec = N + 1
warnings.simplefilter("error")
logging.basicConfig()
logging.getLogger("N").warning("x")
# %%
class Meta(type):
    def __call__(cls, *arguments):
        return super().__call__()

made = [Meta(f"C{i}", (dict,), {"x": i}) for i in range(N // 9)]
objects = [cls() for cls in made]
# %%
import _assay.messages as messages
import _assay.program as program
program.loaded.clear()
messages.dumps = lambda _: "N"
# %%
import sys
for module in list(sys.modules.values()):
    module.mark = N
# %%
import a_module_that_does_not_exist
# %%
import asyncio
import contextvars
v = contextvars.ContextVar("N")

async def f(n):
    v.set(n)
    await asyncio.sleep(0)
    return n

async def main():
    return await asyncio.gather(*map(f, range(N % 50)))

print(asyncio.run(main()))
# %%
import threading
local = threading.local()
local.x = N
threads = [threading.Thread(target=print, args=(i,)) for i in range(N % 20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
# %%
import atexit
import weakref
atexit.register(print, N)

class A:
    def __del__(self):
        print("gone")

a = A()
b = A()
a.b, b.a = b, a
weakref.finalize(a, print, N)
# %%
import functools
import re
import struct
for i in range(N % 60):
    re.compile("a{%d}(b|c)*" % i)

@functools.cache
def f(n):
    return n

[f(i) for i in range(N)]
struct.pack("<9I", *range(9))
# %%
import os
import secrets
import time
import uuid
time.sleep(0.0001)
uuid.uuid4()
secrets.token_bytes(N)
os.environ["N"] = "x"
os.chdir("/tmp")
# %%
import os
files = [open(f"/tmp/f{i}", "w+") for i in range(N % 200)]
for i, file in enumerate(files):
    file.write("x" * i)
os.mkdir("/tmp/d")
os.rename("/tmp/d", "/tmp/e")
# %%
import os
import sys
os.close(0)
number = os.open("/dev/null", os.O_RDONLY)
file = open("/tmp/big", "wb")
file.write(b"x" * (N << 8))
sys.stdin.close()
# %%
import sys
sys.stdout.write("x" * 100 * N)
sys.stderr.write("y" * 100 * N)
# %%
def f(n):
    return n and 1 + f(n - 1)

for n in range(50, 900, 50):
    f(n)
# %%
import sys
sys.setrecursionlimit(10**6)

def f(n):
    return n and 1 + f(n - 1)

print(f(5 * N))
# %%
def f():
    f()

try:
    f()
except RecursionError as error:
    kept = error
    print(str(error))
# %%
kept = []
for i in range(N):
    try:
        [][i]
    except IndexError as error:
        kept.append(error)
raise ValueError(N)
# %%
import sys
sys.exit(N % 5)
# %%
def g():
    try:
        while True:
            yield N
    finally:
        print("closed")

generators = [g() for _ in range(N)]
for generator in generators:
    next(generator)
raise KeyboardInterrupt
# %%
import sys
sys.settrace(lambda *_: None)
sys.setprofile(lambda *_: None)

def f():
    pass

for _ in range(N):
    f()
# %%
import sys
sys.excepthook = None
sys.displayhook = None
sys.unraisablehook = print
del sys.modules["builtins"]
1 / 0
# %%
import copyreg
import marshal
import pickle
import types
marshal.dumps(compile("x = 5", "f", "exec"))
pickle.loads(pickle.dumps([N] * N))
copyreg.pickle(types.ModuleType, print)
# %%
import dataclasses
import enum

@dataclasses.dataclass(slots=True)
class P:
    x: int = N

e = enum.Enum("E", [f"A{i}" for i in range(N % 30)])
# %%
class Odd:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        raise ArithmeticError

    def __hash__(self):
        return self.n % 7

kept = {Odd(i): i for i in range(0)}
try:
    kept = {Odd(0): 1, Odd(7): 2}
except ArithmeticError as error:
    print(type(error))
