# Pairs of cells: a function `f`, and the text of a test that uses it. Cells begin with a line of
# `# %%`. `N` is a number below 1,000 that differs between runs.
# %%
def f(x):
    return [x] * N
# %%
assert f(1) == [1] * N
# %%
def f(x):
    x.append(N)
    return {"a": x, "b": [1, 2, N]}
# %%
f([1])["b"]
import builtins
builtins.mark = N
# %%
class C:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

def f(x):
    return C(x)
# %%
assert f(N).x == N
assert f(1) != f(2)
# %%
import builtins
builtins.sum = None

def f(x):
    raise KeyError(N)
# %%
try:
    f(1)
except KeyError as error:
    assert error.args == (N,)
else:
    assert False
# %%
def f(x):
    yield from range(N)
# %%
assert sum(f(0)) == sum(range(N))
# %%
def f(g):
    return [g(i) for i in range(N % 20)]
# %%
assert f(lambda x: x + 1)[:1] in ([], [1])
# %%
def f(x):
    return x
# %%
kept = [str(i) for i in range(N)]
assert f(N) == -1
# %%
def f(x):
    open("/tmp/x", "w").write("N")
    return "N"
# %%
assert f(1) == "N"
assert open("/tmp/x").read() == "N"
