"""Hostile programs for `code`, in each language."""

from inputs import draw, graded

# Less than the default, so that a run takes minutes; what a limit bounds grows with it.
SECONDS = 1


def program(name, language, code, tests=None, **options):
    options = {"limits": {"seconds": SECONDS}, **options}
    tests = tests or [{"stdin": "", "stdout": "1"}]
    task = {"type": "code", "language": language, "tests": tests, **options}
    return graded(f"{language}: {name}", task, f"```{language}\n{code}\n```")


# Programs that need no sizes, by language and name.
FIXED = {
    "python": {
        "endless loop": "while True: pass",
        "memory by doubling": "x = [0]\nwhile True: x += x",
        "blocks of memory": "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "output without end": "while True: print('x' * 100000)",
        "errors without end": "import sys\nwhile True: sys.stderr.write('x' * 100000)",
        "files without end": "i = 0\nwhile True:\n  open(f'/f{i}', 'w').write('x' * 10**6)\n  i += 1",
        "backtracking": "import re\nprint(re.match(r'^(a+)+$', 'a' * 40 + 'b'))",
        "power": "print(len(str(9**9**9)))",
        "digits": "import sys\nsys.set_int_max_str_digits(0)\nprint(len(str(7**3000000)))",
        "recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)",
        "endless destructor": "class A:\n  def __del__(s):\n    while 1: pass\nx = A()\nprint(1)",
        "chain of exceptions": "e = None\nfor i in range(10**5):\n  try: raise ValueError from e\n  except ValueError as x: e = x\nraise e",
        "nested groups": "e = ValueError('x' * 10**6)\nfor i in range(2000): e = ExceptionGroup('y' * 1000, [e])\nraise e",
        "wide format": "print(len('%1000000000d' % 1))",
        "wide repetition": "x = 'a' * 10**10",
    },
    "javascript": {
        "endless loop": "for (;;);",
        "memory by doubling": "let s = 'a'; while (true) s += s",
        "arrays of arrays": "let a = []; while (true) a = [a, new Array(1e6).fill(a)]",
        "output without end": "while (true) console.log('x'.repeat(100000))",
        "backtracking": "console.log(/^(a+)+$/.test('a'.repeat(40) + 'b'))",
        "power": "console.log((3n ** (10n ** 9n)).toString().length)",
        "recursion": "function f() { return f() + 1 } f()",
        "promises": "function f() { Promise.resolve().then(f) } f()",
        "timers": "for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 1e9); console.log(1)",
        "proxies": "let p = new Proxy({}, {}); for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); try { p.x } catch (e) {} console.log(1)",
        "generators": "function* g() { yield* g() } try { [...g()] } catch (e) { console.log(1) }",
    },
    "typescript": {
        "recursive type": "type A<T> = T extends [infer H, ...infer R] ? [...A<R>, H, ...A<R>] : []; type X = A<[1,2,3,4,5,6,7,8,9]>; console.log(1)",
        "endless loop": "const f = (): never => { for (;;); }; f()",
        "enumeration": "enum E { " + ", ".join(f"A{i} = {i} << 2" for i in range(20_000)) + " } console.log(1)",
    },
    "cpp": {
        "endless loop": "int main() { volatile int x = 0; for (;;) x = x + 1; }",
        "allocation": "#include <vector>\nint main() { std::vector<std::vector<char>> v; for (;;) v.emplace_back(1 << 20, 1); }",
        "output without end": "#include <cstdio>\nint main() { for (;;) puts(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"); }",
        "recursion": "int f(int n) { volatile int a[100]; a[0] = n; return f(n + 1) + a[0]; } int main() { return f(0); }",
        "include of itself": "#include __FILE__\nint main() {}",
        "types of twice the size": "template<class A,class B>struct P{};template<int N>struct T{using t=P<typename T<N-1>::t,typename T<N-1>::t>;};template<>struct T<0>{using t=int;};int main(){T<40>::t x;return sizeof(x);}",
        "constant loop": "constexpr long f(){long s=0;for(long i=0;i<100000000000L;i++)s+=i;return s;}constexpr long x=f();int main(){return x;}",
        "static 3 GB": "static char a[3000000000u]; int main() { a[5] = 1; }",
        "initialised 400 MB": "static int a[100000000] = {1, 2}; int main() { return a[0]; }",
        "array of objects": "struct S { int x = 1; }; S a[300000000]; int main() { return a[5].x; }",
    },
    "c": {
        "endless loop": "int main(void) { volatile int x = 0; for (;;) x = x + 1; }",
        "stack": "int f(int n) { volatile char a[100000]; a[n] = 1; return f(n) + a[n]; } int main(void) { return f(1); }",
        "allocation": "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }",
    },
}  # fmt: skip


def macros(rng):
    depth = rng.choice([4, 7, 10])
    lines = [f"#define A{i + 1} " + f"A{i} " * 10 for i in range(depth)]
    code = "\n".join(["#define A0 x", *lines, f"int main() {{ int x; A{depth} }}"])
    return program(f"{depth} levels of macros", "cpp", code)


def instances(rng):
    depth = rng.choice([100, 400, 800])
    code = (
        "template<int N,int M>struct F{static const int v=F<N-1,M>::v+F<N-1,M+1>::v;};"
        "template<int M>struct F<0,M>{static const int v=1;};"
    )
    return program(
        f"{depth} levels of templates", "cpp", f"{code}int main(){{return F<{depth},0>::v;}}"
    )


def parentheses(rng):
    language, depth = (
        rng.choice(["python", "javascript", "typescript", "cpp"]),
        rng.choice([100, 5000, 100_000]),
    )
    text = "(" * depth + "1" + ")" * depth
    code = f"int main() {{ return {text}; }}" if language == "cpp" else f"x = {text}"
    return program(f"{depth} parentheses", language, code)


def literals(rng):
    language, count = (
        rng.choice(["python", "javascript", "typescript"]),
        rng.choice([2000, 100_000]),
    )
    return program(
        f"list of {count} numbers", language, f"x = [{','.join(map(str, range(count)))}]"
    )


def long_expression(rng):
    language, count = rng.choice(["python", "javascript", "cpp"]), rng.choice([2000, 50_000])
    text = "+".join(["1"] * count)
    code = f"int main() {{ return {text}; }}" if language == "cpp" else f"x = {text}"
    return program(f"sum of {count} terms", language, code)


def errors(rng):
    count = rng.choice([1000, 30_000])
    code = "".join(f"x{i} y{i};\n" for i in range(count)) + "int main() {}"
    return program(f"{count} errors", "cpp", code)


def cases(rng):
    count = rng.choice([1000, 10_000])
    labels = "".join(f"case {i * 7919}: return {i};" for i in range(count))
    return program(
        f"{count} cases",
        "cpp",
        f"int f(int x) {{ switch (x) {{ {labels} }} return 0; }} int main() {{ return f(3); }}",
    )


def inlined(rng):
    depth = rng.choice([8, 16])
    lines = ["static inline int f0(int x) { return x; }"]
    for i in range(depth):
        lines.append(
            f"static inline int f{i + 1}(int x) {{ return f{i}(x) + f{i}(x + 1) + f{i}(x * 2); }}"
        )
    return program(
        f"{depth} inlined functions",
        "c",
        "\n".join([*lines, f"int main(void) {{ return f{depth}(1); }}"]),
    )


def lambdas(rng):
    depth = rng.choice([20, 150])
    text = "[&](){return " * depth + "1" + ";}()" * depth
    return program(f"{depth} nested lambdas", "cpp", f"int main() {{ auto x = {text}; return x; }}")


def many_tests(rng):
    count = rng.choice([100, 1000])
    tests = [{"stdin": str(i), "stdout": str(i)} for i in range(count)]
    return program(f"{count} tests", "python", "print(input())", tests, score="fraction")


def large_outputs(rng):
    tests = [{"stdin": str(i), "stdout": "x"} for i in range(rng.choice([2, 10]))]
    limits = {"output_kb": 65536, "memory_mb": 512, "seconds": 5}
    return program(
        f"60 MB of output for {len(tests)} tests",
        "python",
        "print('x' * 60000000)",
        tests,
        score="fraction",
        stop_at_first_failure=False,
        limits=limits,
    )


def large_values(rng):
    values = {
        "a list of 60 MB": "['x' * 50] * 1000000",
        "7**1000000": "7**1000000",
        "a nested list": "eval('[' * 90 + ']' * 90)",
        "20000 lists": "[[i] for i in range(20000)]",
    }
    name = rng.choice(sorted(values))
    limits = {"output_kb": 65536, "memory_mb": 1024, "seconds": 5}
    test = {"call": "f", "args": [], "returns": [[i] for i in range(20_000)], "unordered": True}
    return program(
        f"returns {name}", "python", f"def f(): return {values[name]}", [test], limits=limits
    )


def large_stdin(rng):
    size = rng.choice([1_000_000, 10_000_000])
    tests = [{"stdin": "x" * size, "stdout": "y" * size}] * 3
    return program(
        f"{size} bytes of input and expected output", "python", "print(len(input()))", tests
    )


def asserts(rng):
    depth = rng.choice([50, 2000])
    check = f"assert f() == {'[' * depth}1{']' * depth}"
    return program(
        f"assert with {depth} brackets", "python", "def f():\n  while 1: pass", [{"assert": check}]
    )


def compares_badly(rng):
    code = f"class A:\n  def __eq__(s, o):\n    while 1: pass\n  def __repr__(s): return 'x' * 10**{rng.randrange(5, 9)}\ndef f(): return A()"
    return program("assert on a hostile object", "python", code, [{"assert": "assert f() == 1"}])


def checker(rng):
    code = rng.choice(["while True: pass", "print('x' * 10**8)", "x = [0]\nwhile True: x += x"])
    check = {"program": {"language": "python", "code": code}}
    return program(f"checker {code[:12]!r}", "python", "print(1)", checker=check)


def prelude(rng):
    code = rng.choice(
        ["while True: pass", "x = [0]\nwhile True: x += x", "def f(:", "import os; os._exit(3)"]
    )
    return program(f"prelude {code[:12]!r}", "python", "print(1)", prelude=code)


def files(rng):
    count = rng.choice([50, 1000])
    made = {f"d{i}/f.txt": "x" * 1000 for i in range(count)}
    return program(f"{count} files", "python", "print(1)", files=made)


def fences(rng):
    count = rng.choice([1000, 50_000])
    task = {"type": "code", "language": "python", "tests": [{"stdin": "", "stdout": "1"}]}
    return graded(f"python: {count} fences", task, "```python\nx = (\n```\n" * count)


SHAPES = [
    macros, instances, parentheses, literals, long_expression, errors, cases, inlined, lambdas,
    many_tests, large_outputs, large_values, large_stdin, asserts, compares_badly, checker, prelude,
    files, fences, parentheses, long_expression,
]  # fmt: skip
SHAPES += [
    lambda _rng, what=(name, language, code): program(*what)
    for language, codes in FIXED.items()
    for name, code in codes.items()
]


def make(rng, count):
    return draw(SHAPES, rng, count)
