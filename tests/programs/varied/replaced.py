# Programs after which an instance is replaced: a trap, exhausted work, a memory that has grown, or
# many pages. Cells are separated by `# %%`. `N` is a number below 1,000 that differs between runs.
# %%
while True:
    N
# %%
import os
print(1)
os._exit(N % 256)
# %%
while True:
    print("x" * 1000)
# %%
a = []
while True:
    a.append(bytearray(1 << 20))
# %%
a = bytearray((60 << 20) + N)
print(len(a))
# %%
a = [str(i) for i in range(150_000 + N)]
print(len(a))
# %%
import time
time.sleep(10**6)
# %%
import os
os.abort()
# %%
import sys
sys.setrecursionlimit(10**7)

def f(n):
    return 1 + f(n + 1)

f(0)
