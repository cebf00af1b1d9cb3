"""Special methods of the data model: for each a class that has it, and a use that calls it through
syntax or a builtin.

A row is (method, body of class `C`, use of `x`). `x` is an instance, `y` another, of a class with
`__init__(self, v=3)`; where the name begins with `class `, `x` is the class itself. The use ends in
an expression, whose value is plain data.
"""

BINARY = "add sub mul truediv floordiv mod pow matmul lshift rshift and xor or".split()
SIGNS = dict(zip(BINARY, "+ - * / // % ** @ << >> & ^ |".split()))


# Rows that use a program's object together with a value of the test. The program could return any
# result, so the judge does not ask it, and such a test fails.
ON_VALUES = " with a value"


def _operators():
    for name in BINARY:
        sign = SIGNS[name]
        yield (
            f"__{name}__",
            f"def __{name}__(self, o): return ['{name}', self.v, o.v]",
            f"x {sign} y",
        )
        yield (
            f"__{name}__{ON_VALUES}",
            f"def __{name}__(self, o): return ['{name}', self.v, o]",
            f"x {sign} 5",
        )
        yield (
            f"__r{name}__{ON_VALUES}",
            f"def __r{name}__(self, o): return ['r{name}', self.v, o]",
            f"5 {sign} x",
        )
        body = f"def __i{name}__(self, o):\n    self.v = ['i{name}', self.v, getattr(o, 'v', o)]\n    return self"
        yield f"__i{name}__", body, f"z = x\nx {sign}= y\n[z is x, x.v]"
        yield f"__i{name}__{ON_VALUES}", body, f"z = x\nx {sign}= 5\n[z is x, x.v]"
    yield f"__divmod__{ON_VALUES}", "def __divmod__(self, o): return self.v, o", "divmod(x, 2)"
    yield f"__rdivmod__{ON_VALUES}", "def __rdivmod__(self, o): return o, self.v", "divmod(2, x)"
    yield (
        f"__pow__ with modulus{ON_VALUES}",
        "def __pow__(self, o, m=None): return [o, m]",
        "pow(x, 2, 7)",
    )
    yield (
        "NotImplemented",
        "def __add__(self, o): return NotImplemented",
        "try:\n    x + 1\nexcept TypeError:\n    z = 'TypeError'\nz",
    )
    for name, sign in zip("lt le eq ne gt ge".split(), "< <= == != > >=".split()):
        body = f"def __{name}__(self, o): return self.v {sign} getattr(o, 'v', o)\n__hash__ = None"
        yield f"__{name}__", body, f"[x {sign} x, x {sign} y]"
        yield f"__{name}__{ON_VALUES}", body, f"[x {sign} 3, bool(x {sign} 4)]"
    yield (
        "__lt__ in sorted",
        "def __lt__(self, o): return self.v < o.v",
        "[z.v for z in sorted([y, x])]",
    )
    yield (
        "__eq__ in list",
        "def __eq__(self, o): return self.v == o.v",
        "[x in [y, x], [x, y].index(y), [x, y].count(x), [x] == [x], (x, 1) == (y, 1)]",
    )
    yield (
        f"__eq__ in list{ON_VALUES}",
        "def __eq__(self, o): return self.v == getattr(o, 'v', o)",
        "[3 in [x], [x].index(3), [x] == [3]]",
    )
    yield f"__eq__ not bool{ON_VALUES}", "def __eq__(self, o): return [self.v, o]", "x == 5"


ROWS = [
    # Representation and life.
    (
        "__repr__",
        "def __repr__(self): return f'C<{self.v}>'",
        "[repr(x), f'{x!r}', '%r' % x, str([x])]",
    ),
    (
        "__str__",
        "def __str__(self): return f'c{self.v}'",
        "[str(x), f'{x}', '%s' % x, '{}'.format(x)]",
    ),
    (
        "__format__",
        "def __format__(self, s): return f'<{s}:{self.v}>'",
        "[f'{x:abc}', format(x, '>9'), '{:q}'.format(x)]",
    ),
    ("__bytes__", "def __bytes__(self): return b'by%d' % self.v", "bytes(x)"),
    (
        "__hash__",
        "def __hash__(self): return 77\ndef __eq__(self, o): return self is o",
        "[hash(x), {x: 1}[x], x in {x}, y in {x}]",
    ),
    (
        "__new__",
        "def __new__(cls, v=3):\n    o = super().__new__(cls)\n    o.made = True\n    return o",
        "[x.made, x.v, type(x)(8).made]",
    ),
    (
        "__init__",
        "def __init__(self, v=3, *a, k=1): self.v, self.k = v, k",
        "z = type(x)(5, k=9)\n[z.v, z.k]",
    ),
    ("__sizeof__", "def __sizeof__(self): return 1000", "[x.__sizeof__()]"),
    ("__dir__", "def __dir__(self): return ['b', 'a']", "dir(x)"),
    ("__doc__", "'documented'", "x.__doc__"),
    ("__dict__", "", "[vars(x), x.__dict__]"),
    (
        "__class__",
        "",
        "[type(x).__name__, x.__class__.__name__, isinstance(x, type(y)), isinstance(x, int)]",
    ),
    ("__module__", "", "[type(x).__qualname__]"),
    # Truth and numbers.
    (
        "__bool__",
        "def __bool__(self): return self.v == 4",
        "[bool(x), not x, bool(y), 1 if y else 2, bool(x and 1), y and 1]",
    ),
    (
        "__len__ as truth",
        "def __len__(self): return self.v - 3",
        "[bool(x), bool(y), 'e' if not x else 'f']",
    ),
    (
        "truth by default",
        "",
        "z = 0\nwhile x:\n    z += 1\n    x = None\n[z, bool(y), not y, (y or 5) is y]",
    ),
    (
        "identity",
        "",
        "[x is x, x is y, x == x, x == y, x != y, x == None, x in [y, x], [y, x].index(x)]",
    ),
    ("__int__", "def __int__(self): return self.v * 2", "[int(x)]"),
    (
        "__float__",
        "def __float__(self): return self.v / 2",
        "import math\n[float(x), math.sqrt(x) > 1, math.floor(1.5)]",
    ),
    ("__complex__", "def __complex__(self): return complex(self.v, 1)", "complex(x)"),
    (
        "__index__",
        "def __index__(self): return self.v",
        "['abcdef'[x], hex(x), list(range(x)), 'abcdef'[:x], bin(x), round(1.23456, x), chr(x), int(x)]",
    ),
    (
        f"__index__ in repetition{ON_VALUES}",
        "def __index__(self): return self.v",
        "[[0] * x, 'x' * x]",
    ),
    ("__neg__", "def __neg__(self): return -self.v", "-x"),
    ("__pos__", "def __pos__(self): return [self.v]", "+x"),
    ("__abs__", "def __abs__(self): return self.v + 10", "abs(x)"),
    ("__invert__", "def __invert__(self): return ~self.v", "~x"),
    ("__round__", "def __round__(self, n=None): return ['round', n]", "[round(x), round(x, 2)]"),
    ("__trunc__", "def __trunc__(self): return 31", "import math\nmath.trunc(x)"),
    ("__floor__", "def __floor__(self): return 32", "import math\nmath.floor(x)"),
    ("__ceil__", "def __ceil__(self): return 33", "import math\nmath.ceil(x)"),
    # Containers and iteration.
    ("__len__", "def __len__(self): return self.v", "len(x)"),
    (
        "__length_hint__",
        "def __length_hint__(self): return 9",
        "import operator\noperator.length_hint(x)",
    ),
    (
        "__getitem__",
        "def __getitem__(self, k): return ['got', k]",
        "[x[5], x['k'], x[1, 2], x[...][1] is ..., x[None]]",
    ),
    (
        "__getitem__ of slices",
        "def __getitem__(self, k): return [k.start, k.stop, k.step]",
        "[x[1:2], x[:], x[::-1]]",
    ),
    (
        "__setitem__",
        "def __setitem__(self, k, v): self.v = [k, v]",
        "x[7] = 8\nz = x.v\nx[1, 2] = 'q'\n[z, x.v]",
    ),
    ("__delitem__", "def __delitem__(self, k): self.v = ['del', k]", "del x['a']\nx.v"),
    (
        "__contains__",
        "def __contains__(self, o): return o == self.v",
        "[3 in x, 5 in x, 5 not in x]",
    ),
    (
        "__iter__",
        "def __iter__(self): return iter([self.v, 1, 2])",
        "a, *b = x\n[list(x), a, b, [*x], max(x), sum(x), sorted(x), 1 in x, dict(zip(x, 'abc')), tuple(x), set(x) == {1, 2, 3}]",
    ),
    (
        "__iter__ generator",
        "def __iter__(self):\n    yield from range(self.v)",
        "z = []\nfor i in x:\n    z.append(i)\n[z, list(map(str, x)), list(enumerate(x)), list(zip(x, x)), any(x), list(reversed(list(x)))]",
    ),
    (
        "__next__",
        "def __iter__(self): return self\ndef __next__(self):\n    if not self.v:\n        raise StopIteration\n    self.v -= 1\n    return self.v",
        "[next(x), list(x), next(x, 'end'), list(x)]",
    ),
    ("__reversed__", "def __reversed__(self): return iter('zyx')", "list(reversed(x))"),
    (
        "sequence protocol",
        "def __getitem__(self, i):\n    if i > 3:\n        raise IndexError(i)\n    return i * i\ndef __len__(self): return 4",
        "[list(x), 9 in x, list(reversed(x)), [a + b for a, b in zip(x, x)], list(iter(x))]",
    ),
    (
        "__missing__",
        "",
        "[x['zz'], x.get('zz'), len(x), dict(x)]",
        "dict",
        "def __missing__(self, k): return 'no ' + k",
    ),
    # Calls and context.
    (
        "__call__",
        "def __call__(self, *a, **k): return [self.v, list(a), k]",
        "[x(), x(1, 2), x(1, k=[2]), callable(x), list(map(x, [7]))]",
    ),
    (
        "__enter__ __exit__",
        "def __enter__(self): return self.v\ndef __exit__(self, *a):\n    self.v = [e and e.__name__ for e in a[:1]]\n    return True",
        "with x as z:\n    pass\nw = x.v\nwith x:\n    raise KeyError('k')\n[z, w, x.v]",
    ),
    (
        "__exit__ that passes on",
        "def __enter__(self): return self\ndef __exit__(self, t, e, b): self.v = str(e)",
        "try:\n    with x as z:\n        raise ValueError('inside')\nexcept ValueError:\n    w = 'out'\n[w, x.v, z is x]",
    ),
    (
        "__await__",
        "def __await__(self):\n    return self.v\n    yield",
        "import asyncio\nasync def main(): return await x\nasyncio.run(main())",
    ),
    (
        "__aiter__ __anext__",
        "def __aiter__(self): return self\nasync def __anext__(self):\n    if not self.v:\n        raise StopAsyncIteration\n    self.v -= 1\n    return self.v",
        "import asyncio\nasync def main(): return [i async for i in x]\nasyncio.run(main())",
    ),
    (
        "__aenter__ __aexit__",
        "async def __aenter__(self): return self.v\nasync def __aexit__(self, *a): self.v = 'left'",
        "import asyncio\nasync def main():\n    async with x as z:\n        pass\n    return [z, x.v]\nasyncio.run(main())",
    ),
    (
        "async method",
        "async def go(self, n): return self.v + n",
        "import asyncio\nasync def main(): return await x.go(4)\nasyncio.run(main())",
    ),
    # Copies.
    ("__copy__", "def __copy__(self): return type(self)(50)", "import copy\ncopy.copy(x).v"),
    (
        "__deepcopy__",
        "def __deepcopy__(self, memo): return type(self)(60)",
        "import copy\n[copy.deepcopy(x).v, copy.deepcopy([x])[0].v]",
    ),
    (
        "copy by default",
        "",
        "import copy\nx.v = [1, [2]]\na, b = copy.copy(x), copy.deepcopy(x)\nx.v[1].append(9)\n[a.v, b.v, a is x]",
    ),
    ("__reduce__", "def __reduce__(self): return type(self), (70,)", "import copy\ncopy.copy(x).v"),
    (
        "__getstate__ __setstate__",
        "def __getstate__(self): return {'v': 80}\ndef __setstate__(self, s): self.v = s['v'] + 1",
        "import copy\ncopy.copy(x).v",
    ),
    ("__getnewargs__", "def __getnewargs__(self): return (5,)", "list(x.__getnewargs__())"),
    # Attributes.
    (
        "__getattr__",
        "def __getattr__(self, n):\n    if n.startswith('q'):\n        return n.upper()\n    raise AttributeError(n)",
        "[x.qw, x.v, hasattr(x, 'qz'), hasattr(x, 'zz'), getattr(x, 'zz', 5)]",
    ),
    (
        "__getattribute__",
        "def __getattribute__(self, n): return 'all' if n == 'v' else object.__getattribute__(self, n)",
        "x.v",
    ),
    (
        "__setattr__",
        "def __setattr__(self, n, v): object.__setattr__(self, n, [n, v])",
        "x.w = 5\n[x.w, x.v]",
    ),
    ("__delattr__", "def __delattr__(self, n): self.gone = n", "del x.v\n[x.gone, x.v]"),
    (
        "setattr and delattr",
        "",
        "x.new = [1]\nx.v += 1\nz = x.v\ndel x.v\n[x.new, z, hasattr(x, 'v')]",
    ),
    (
        "property",
        "@property\ndef p(self): return self.v * 2\n@p.setter\ndef p(self, n): self.v = n",
        "z = x.p\nx.p = 10\n[z, x.p]",
    ),
    (
        "__get__",
        "class D:\n    def __get__(self, o, t=None): return ['get', o is not None]\nd = D()",
        "[x.d, type(x).d]",
    ),
    (
        "__set__",
        "class D:\n    def __get__(self, o, t=None): return o.__dict__.get('q')\n    def __set__(self, o, n): o.__dict__['q'] = ['set', n]\nd = D()",
        "x.d = 4\nx.d",
    ),
    (
        "__delete__",
        "class D:\n    def __get__(self, o, t=None): return o.v\n    def __set__(self, o, n): pass\n    def __delete__(self, o): o.v = 'deleted'\nd = D()",
        "del x.d\nx.d",
    ),
    (
        "__set_name__",
        "class D:\n    def __set_name__(self, o, n): self.n = n\n    def __get__(self, o, t=None): return self.n\nd = D()",
        "x.d",
    ),
    (
        "__slots__",
        "__slots__ = ('v', 'w')",
        "x.w = 5\ntry:\n    x.zz = 1\nexcept AttributeError:\n    z = 'refused'\n[x.v, x.w, z]",
    ),
    (
        "staticmethod classmethod",
        "@staticmethod\ndef s(a): return a + 1\n@classmethod\ndef c(cls, a): return cls(a).v",
        "[x.s(1), x.c(5), type(x).s(2)]",
    ),
    ("attribute of the class", "K = [1, 2]", "x.K.append(3)\n[x.K, type(x).K, y.K]"),
    (
        "bound methods",
        "def m(self, a=1): return self.v + a",
        "g = x.m\n[g(), g(5), x.m is not None, list(map(x.m, [1, 2]))]",
    ),
    (
        "__fspath__",
        "def __fspath__(self): return '/a/b.txt'",
        "import os\n[os.fspath(x), os.path.basename(x)]",
    ),
    ("__match_args__", "__match_args__ = ('v',)\nw = 7", "list(type(x).__match_args__)"),
    # Of the class itself.
    (
        "class __call__",
        "def m(self): return self.v",
        "[x().v, x(9).m(), x.m(x(4)), callable(x), x.__name__]",
    ),
    (
        "class isinstance",
        "",
        "[isinstance(x(), x), isinstance(5, x), issubclass(x, x), issubclass(int, x), issubclass(x, object)]",
    ),
    ("class __class_getitem__", "def __class_getitem__(cls, k): return [cls.__name__, k]", "x[5]"),
    (
        "class __init_subclass__",
        "def __init_subclass__(cls, **k): cls.made = sorted(k.items())",
        "class D(x, a=1):\n    pass\n[D.made, D(4).v, issubclass(D, x)]",
    ),
    (
        "class derived from",
        "def m(self): return [self.v, self.extra()]\ndef extra(self): return 'base'",
        "class D(x):\n    def extra(self): return 'derived'\nd = D(6)\n[d.m(), x(1).m(), isinstance(d, x), super(D, d).extra()]",
    ),
    (
        "class __instancecheck__",
        "",
        "[isinstance(5, x), isinstance('s', x)]",
        "object",
        "",
        "def __instancecheck__(cls, o): return o == 5",
    ),
    (
        "class __subclasscheck__",
        "",
        "[issubclass(int, x), issubclass(str, x)]",
        "object",
        "",
        "def __subclasscheck__(cls, o): return o is int",
    ),
    (
        "class __len__ of metaclass",
        "",
        "[len(x), bool(x)]",
        "object",
        "",
        "def __len__(cls): return 42",
    ),
    (
        "class __iter__ of metaclass",
        "",
        "[list(x), 2 in x]",
        "object",
        "",
        "def __iter__(cls): return iter([1, 2])",
    ),
    (
        "class __getitem__ of metaclass",
        "",
        "x['k']",
        "object",
        "",
        "def __getitem__(cls, k): return ['item', k]",
    ),
    (
        "class __getattr__ of metaclass",
        "",
        "x.anything",
        "object",
        "",
        "def __getattr__(cls, n): return 'meta ' + n",
    ),
    (
        "class __call__ of metaclass",
        "",
        "x(1, 2)",
        "object",
        "",
        "def __call__(cls, *a): return list(a)",
    ),
    (
        "class __repr__ of metaclass",
        "",
        "[repr(x), str(x)]",
        "object",
        "",
        "def __repr__(cls): return '<the class>'",
    ),
    (
        f"class __or__ of metaclass{ON_VALUES}",
        "",
        "x | 5",
        "object",
        "",
        "def __or__(cls, o): return ['or', o]",
    ),
    (
        "class __hash__ of metaclass",
        "",
        "[x == x, hash(x), {x: 1}[x]]",
        "object",
        "",
        "def __hash__(cls): return 5",
    ),
    (
        f"class __eq__ of metaclass{ON_VALUES}",
        "",
        "x == 5",
        "object",
        "",
        "def __eq__(cls, o): return o == 5\ndef __hash__(cls): return 5",
    ),
    (
        "class __subclasshook__",
        "@classmethod\ndef __subclasshook__(cls, o): return hasattr(o, 'split')",
        "[issubclass(str, x), isinstance('s', x), isinstance(4, x)]",
        "abc.ABC",
    ),
    (
        "class __mro_entries__",
        "",
        "class D(x):\n    w = 4\n[D.w, D.__mro__[1].__name__]",
        "object",
        "",
        "",
        "def __mro_entries__(self, bases): return (int,)",
    ),
    (
        "class __prepare__",
        "",
        "class D(metaclass=x):\n    w = 4\n[D.w, D.prepared]",
        "type",
        "def __init__(self, *a, **k): pass\n@classmethod\ndef __prepare__(m, n, b): return {'prepared': 1}",
    ),
    *_operators(),
]
