"""Checked changes of libc++'s random distributions, which then have the values of GCC's library.
`c/distributions.h` has the functions.
"""

from downloads import Substitution

FOLDER = "libcxx/include/__random"

REASON = "`c/distributions.h`"
NORMAL = "__assay_normal_"
GAMMA = "__assay_gamma_"

MEMBER = "private:\n  param_type __p_;\n\npublic:\n"
RESET = "void reset() {}"


def change(name, old, new):
    return Substitution(f"{FOLDER}/{name}_distribution.h", REASON, old, new)


def uses(name, *headers):
    added = "".join(f"#include <__random/{header}.h>\n" for header in headers)
    include = "#include <__config>\n"
    return change(name, include, include + added)


def keeps(name, *members):
    """The distribution has other distributions as members."""
    declared = "".join(f"  {kind} {member};\n" for kind, member in members)
    calls = " ".join(f"{member}.reset();" for kind, member in members)
    yield change(name, MEMBER, MEMBER.replace("\n\n", f"\n{declared}\n"))
    yield change(name, RESET, f"void reset() {{ {calls} }}")


DOUBLE = ("normal_distribution<double>", NORMAL)
REAL = ("normal_distribution<result_type>", NORMAL)

SUBSTITUTIONS = (
    uses("gamma", "assay_distributions", "normal_distribution"),
    *keeps("gamma", REAL),
    change(
        "gamma",
        "  result_type __a = __p.alpha();\n",
        f"  return std::__assay_gamma<result_type>(__g, {NORMAL}, __p.alpha(), __p.beta());\n"
        "#if 0\n",
    ),
    change("gamma", "  return __x * __p.beta();\n", "#endif\n"),
    uses("poisson", "assay_distributions", "normal_distribution"),
    *keeps("poisson", DOUBLE),
    change(
        "poisson",
        "  double __tx;\n",
        f"  return std::__assay_poisson<result_type>(__urng, {NORMAL}, __pr.__mean_);\n#if 0\n",
    ),
    change("poisson", "  return std::__clamp_to_integral<result_type>(__tx);\n}\n", "#endif\n}\n"),
    uses("binomial", "assay_distributions", "normal_distribution"),
    *keeps("binomial", DOUBLE),
    change(
        "binomial",
        "  if (__pr.__t_ == 0 || __pr.__p_ == 0)\n    return 0;\n",
        f"  return std::__assay_binomial<result_type>(__g, {NORMAL}, __pr.__t_, __pr.__p_);\n"
        "#if 0\n",
    ),
    change("binomial", "    if (__break)\n      return 0;\n  }\n", "  }\n#endif\n"),
    uses("geometric", "assay_distributions"),
    change(
        "geometric",
        "negative_binomial_distribution<result_type>(1, __p.p())(__g)",
        "std::__assay_geometric<result_type>(__g, __p.p())",
    ),
    *keeps("negative_binomial", ("gamma_distribution<double>", GAMMA)),
    change(
        "negative_binomial",
        "  if (__k <= 21 * __p && sizeof(_IntType) > 1) {\n",
        "  if (false) {\n",
    ),
    change(
        "negative_binomial",
        "gamma_distribution<double>(__k, (1 - __p) / __p)(__urng)",
        f"{GAMMA}(__urng, gamma_distribution<double>::param_type(__k, (1 - __p) / __p))",
    ),
    *keeps("chi_squared", ("gamma_distribution<result_type>", GAMMA)),
    change(
        "chi_squared",
        "gamma_distribution<result_type>(__p.n() / 2, 2)(__g)",
        f"2 * {GAMMA}(__g, typename gamma_distribution<result_type>::param_type(__p.n() / 2))",
    ),
    change(
        "student_t",
        "  gamma_distribution<result_type> __gd(__p.n() * .5, 2);\n"
        "  return __nd_(__g) * std::sqrt(__p.n() / __gd(__g));\n",
        f"  const result_type __normal = __nd_(__g);\n"
        f"  return __normal * std::sqrt(__p.n() / {GAMMA}(__g, typename "
        "gamma_distribution<result_type>::param_type(__p.n() / 2, 2)));\n",
    ),
    change(
        "student_t",
        "  normal_distribution<result_type> __nd_;\n",
        f"  normal_distribution<result_type> __nd_;\n"
        f"  gamma_distribution<result_type> {GAMMA};\n",
    ),
    change("student_t", "{ __nd_.reset(); }", f"{{ __nd_.reset(); {GAMMA}.reset(); }}"),
    *keeps(
        "fisher_f",
        ("gamma_distribution<result_type>", f"{GAMMA}m_"),
        ("gamma_distribution<result_type>", f"{GAMMA}n_"),
    ),
    change(
        "fisher_f",
        "  gamma_distribution<result_type> __gdm(__p.m() * result_type(.5));\n"
        "  gamma_distribution<result_type> __gdn(__p.n() * result_type(.5));\n"
        "  return __p.n() * __gdm(__g) / (__p.m() * __gdn(__g));\n",
        "  typedef typename gamma_distribution<result_type>::param_type __param;\n"
        f"  const result_type __m = {GAMMA}m_(__g, __param(__p.m() / 2)) * __p.n();\n"
        f"  return __m / ({GAMMA}n_(__g, __param(__p.n() / 2)) * __p.m());\n",
    ),
    change(
        "discrete",
        "  uniform_real_distribution<double> __gen;\n  return static_cast<_IntType>(std::upper",
        "  if (__p.__p_.empty())\n    return 0;\n"
        "  uniform_real_distribution<double> __gen;\n  return static_cast<_IntType>(std::upper",
    ),
    Substitution(
        "libcxx/include/__algorithm/sample.h",
        "two positions come from one number, as in a shuffle",
        "  for (__n = std::min(__n, __unsampled_sz); __n != 0; ++__first) {\n",
        "  __n = std::min(__n, __unsampled_sz);\n"
        "  const __make_unsigned_t<_Distance> __size = __unsampled_sz;\n"
        "  if (__n != 0 && (__g.max() - __g.min()) / __size >= __size) {\n"
        "    while (__n != 0 && __unsampled_sz >= 2) {\n"
        "      const _Distance __second = __unsampled_sz - 1;\n"
        "      const _Distance __both =\n"
        "          uniform_int_distribution<_Distance>(0, __unsampled_sz * __second - 1)(__g);\n"
        "      const _Distance __pair[2] = {__both / __second, __both % __second};\n"
        "      for (int __i = 0; __i < 2 && __n != 0; ++__i, (void)++__first) {\n"
        "        --__unsampled_sz;\n"
        "        if (__pair[__i] < __n) {\n"
        "          *__output_iter++ = *__first;\n"
        "          --__n;\n"
        "        }\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "  for (; __n != 0; ++__first) {\n",
    ),
)
