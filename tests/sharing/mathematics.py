"""Hostile answers and golds for `math`."""

from inputs import draw, graded

LETTERS = "abcdefghkmnpqrstuvwxyz"


def math(name, gold, answer, **options):
    return graded(name, {"type": "math", "answer": gold, **options}, f"\\boxed{{{answer}}}")


def both(name, text, other=None, **options):
    """Compares a text with a variant that is not the same text."""
    return math(name, text, other or f"{text} + 0", **options)


def product(rng):
    n = rng.choice([8, 20, 60, 200])
    text = "".join(f"(x + {rng.randrange(1, 99)}{rng.choice(LETTERS)})" for _ in range(n))
    return both(f"product of {n} sums", text)


def power_of_sum(rng):
    terms, power = rng.choice([(2, 2000), (4, 60), (8, 30), (20, 12), (3, 10**6)])
    text = f"({' + '.join(LETTERS[:terms])})^{{{power}}}"
    return both(f"power {power} of {terms} terms", text, f"{text} + 1 - 1")


def tower(rng):
    height, base = rng.randrange(3, 9), rng.randrange(2, 10)
    text = "^{".join([str(base)] * height) + "}" * (height - 1)
    return both(f"tower of {height} powers of {base}", text)


def power_of_power(rng):
    depth = rng.randrange(3, 40)
    text = "(" * depth + "x + 1" + ")^{9}" * depth
    return both(f"{depth} nested powers", text)


def integer(rng):
    digits = rng.choice([1000, 20_000, 200_000])
    text = str(rng.randrange(1, 10)) * digits
    return math(f"integer of {digits} digits", text, f"{text[:-1]}\\cdot 10 + {text[-1]}")


def fraction(rng):
    digits = rng.choice([500, 5000, 50_000])
    top, bottom = "7" * digits, "9" * (digits - 1) + "1"
    return math(
        f"fraction of {digits} digits", f"{top}/{bottom}", f"\\frac{{{top}}}{{{bottom}}} + 0"
    )


def decimals(rng):
    digits = rng.choice([1000, 30_000])
    return math(
        f"{digits} decimals", "0." + "3" * digits, "\\frac{1}{3}", tolerance={"relative": 1e-9}
    )


def exponent(rng):
    size = rng.choice([10**4, 10**6, 10**9, 10**18])
    return both(f"exponent {size}", f"1.5 \\times 10^{{{size}}}", f"15 \\times 10^{{{size - 1}}}")


def factorial(rng):
    n = rng.choice([500, 5000, 10**5, 10**9])
    return both(f"factorial of {n}", f"{n}!", f"{n} \\cdot ({n} - 1)!")


def factorials(rng):
    n = rng.randrange(2, 30)
    return both(f"{n} factorials", "(" * n + "3" + ")!" * n)


def binomial(rng):
    n = rng.choice([300, 5000, 10**6])
    return both(
        f"binomial of {n}", f"\\binom{{{n}}}{{{n // 2}}}", f"\\binom{{{n}}}{{{n - n // 2}}}"
    )


def nested_sum(rng):
    depth, top = rng.choice([(1, 10**6), (2, 3000), (3, 200), (5, 30), (8, 10)])
    names = LETTERS[:depth]
    text = "".join(f"\\sum_{{{name}=1}}^{{{top}}} " for name in names)
    return both(f"{depth} nested sums to {top}", text + "\\cdot ".join(names))


def nested_product(rng):
    depth, top = rng.choice([(1, 10**5), (2, 300), (3, 40)])
    names = LETTERS[:depth]
    text = "".join(f"\\prod_{{{name}=1}}^{{{top}}} " for name in names)
    return both(f"{depth} nested products to {top}", f"{text}({' + '.join(names)})")


def integral(rng):
    depth = rng.randrange(1, 4)
    text = "\\int_0^1 " * depth + "\\sin(" * 10 + "x" + ")" * 10 + " dx" * depth
    return both(f"{depth} integrals of a nested sine", text)


def limit(rng):
    depth = rng.choice([5, 30])
    inner = "\\sqrt{x + " * depth + "1" + "}" * depth
    return both(f"limit of {depth} roots", f"\\lim_{{x \\to \\infty}} {inner} - \\sqrt{{x}}")


def series(rng):
    power = rng.randrange(2, 40)
    return both(
        f"infinite sum of power {power}",
        f"\\sum_{{n=1}}^{{\\infty}} \\frac{{n^{{{power}}}}}{{{power}^n}}",
    )


def matrix(rows, kind="pmatrix"):
    inner = "\\\\".join("&".join(map(str, row)) for row in rows)
    return f"\\begin{{{kind}}}{inner}\\end{{{kind}}}"


def determinant(rng):
    size = rng.choice([6, 12, 25, 60])
    line = range(size)
    rows = [[f"{rng.choice(LETTERS)}^{rng.randrange(1, 9)}" for _ in line] for _ in line]
    return both(f"determinant of size {size}", f"\\det{matrix(rows)}")


def matrix_power(rng):
    size, power = rng.choice([(3, 10**6), (10, 300), (30, 20)])
    rows = [[rng.randrange(1, 99) for _ in range(size)] for _ in range(size)]
    text = f"{matrix(rows)}^{{{power}}}"
    return both(f"matrix of size {size} to the power {power}", text)


def matrix_product(rng):
    count, size = rng.choice([(5, 20), (40, 6)])
    text = matrix([[f"x^{i + j}" for j in range(size)] for i in range(size)]) * count
    return both(f"product of {count} matrices", text)


def roots(rng):
    n = rng.choice([5, 12, 40, 150])
    text = " + ".join(f"\\sqrt{{{2 * i + 3}}}" for i in range(n))
    return both(f"sum of {n} roots", text, f"{text} + 10^{{-400}}")


def nested_roots(rng):
    depth = rng.choice([8, 40, 90])
    text = "\\sqrt{2 + " * depth + "\\sqrt{3}" + "}" * depth
    return both(f"{depth} nested roots", text, f"\\sqrt{{({text})^2}}")


def high_root(rng):
    degree = rng.choice([97, 5003, 10**6 + 3])
    return both(f"root of degree {degree}", f"\\sqrt[{degree}]{{2}} + \\sqrt[{degree + 2}]{{3}}")


def trigonometry(rng):
    n = rng.choice([6, 24, 80])
    text = " ".join(f"\\sin({i + 1}x + y)" for i in range(n))
    return both(f"product of {n} sines", text, " ".join(f"\\sin(y + {i + 1}x)" for i in range(n)))


def functions(rng):
    depth = rng.choice([10, 60, 95])
    name = rng.choice(["\\sin", "\\ln", "\\exp", "\\arctan"])
    return both(f"{depth} nested {name[1:]}", f"{name}(" * depth + "x" + ")" * depth)


def large_arguments(rng):
    size = rng.choice([50, 5000, 10**6])
    return both(f"sine of 10^{size}", f"\\sin(10^{{{size}}}) + e^{{-10^{{{size}}}}}")


def fractions(rng):
    depth = rng.choice([20, 80])
    text = "\\frac{1}{x + " * depth + "1" + "}" * depth
    return both(f"{depth} continued fractions", text)


def long_list(rng):
    n = rng.choice([50, 500, 5000])
    made = [f"\\sqrt{{{i}}} + x^{{{i}}}" for i in range(n)]
    shuffled = rng.sample(made, n)
    return math(
        f"unordered list of {n}",
        "\\{" + ", ".join(made) + "\\}",
        "\\{" + ", ".join(shuffled) + "\\}",
    )


def list_of_lists(rng):
    n = rng.choice([20, 100])
    made = ["\\{" + ", ".join(f"{i}x + {j}" for j in range(n)) + "\\}" for i in range(n)]
    text = ", ".join(reversed(made))
    return math(f"{n} sets of {n}", f"\\{{{', '.join(made)}\\}}", f"\\{{{text}\\}}")


def intervals(rng):
    n = rng.choice([50, 2000])
    made = [f"({3 * i}, {3 * i + 1}]" for i in range(n)]
    return math(f"union of {n} intervals", " \\cup ".join(made), " \\cup ".join(reversed(made)))


def inequalities(rng):
    n = rng.choice([20, 400])
    text = " < ".join(f"x_{{{i}}} + {i}" for i in range(n))
    return both(f"chain of {n} inequalities", text, text.replace("<", "\\le"))


def equation(rng):
    degree = rng.choice([30, 500, 10**5])
    text = f"(x + y)^{{{degree}}} = z"
    return both(f"equation of degree {degree}", text, f"2(x + y)^{{{degree}}} = 2z")


def signs(rng):
    n = rng.choice([8, 16, 30])
    text = " \\pm ".join(f"\\sqrt{{{i + 2}}}" for i in range(n))
    return both(f"{n} signs", text, text.replace("\\pm", "\\mp"))


def nesting(rng):
    depth = rng.choice([90, 3000, 60_000])
    unit = rng.choice(["(", "{", "\\frac{1}{", "\\sqrt{", "-", "|"])
    return both(
        f"{depth} times {unit}",
        unit * depth + "1" + {"(": ")", "|": "|", "-": ""}.get(unit, "}") * depth,
    )


def long_sum(rng):
    n = rng.choice([300, 3000, 20_000])
    text = " + ".join(f"{i}{rng.choice(LETTERS)}^{{{i % 50}}}" for i in range(n))
    return both(f"sum of {n} terms", text)


def variables(rng):
    n = rng.choice([50, 400])
    text = " + ".join(f"x_{{{i}}} y_{{{i}}}^{{{i}}}" for i in range(n))
    return both(f"{2 * n} variables", f"({text})^2", f"({text})({text})")


def many_golds(rng):
    n = rng.choice([30, 60])
    golds = [f"(\\sin({i}x) + \\cos({i}y))^{{{i}}}" for i in range(1, n + 1)]
    return math(f"{n} golds", golds, golds[0] + " + \\tan z")


def many_boxes(rng):
    n = rng.choice([2000, 40_000])
    return graded(f"{n} boxes", {"type": "math", "answer": "x"}, "\\boxed{(a+b)^{99}} " * n)


def modulus(rng):
    size = rng.choice([100, 10**6])
    return both(f"modulus of 7^(10^{size})", f"7^{{10^{{{size}}}}} \\bmod 1000007")


def repeating(rng):
    n = rng.choice([100, 20_000])
    return both(f"{n} repeating decimals", f"0.\\overline{{{'142857' * n}}}", "\\frac{1}{7}")


SHAPES = [
    product, power_of_sum, tower, power_of_power, integer, fraction, decimals, exponent, factorial,
    factorials, binomial, nested_sum, nested_product, integral, limit, series, determinant,
    matrix_power, matrix_product, roots, nested_roots, high_root, trigonometry, functions,
    large_arguments, fractions, long_list, list_of_lists, intervals, inequalities, equation, signs,
    nesting, long_sum, variables, many_golds, many_boxes, modulus, repeating,
]  # fmt: skip


def make(rng, count):
    return draw(SHAPES, rng, count)
