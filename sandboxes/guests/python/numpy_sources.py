"""The sources of numpy: changed, and completed by its own scripts.

numpy's scripts expand its templates, and Cython translates `numpy.random` to C. No meson is needed.
The result depends only on this file, `numpy_changes.py` and the pins of numpy and Cython.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy_changes
import packages
import sources
from toolchain import Failed, hash_of

CORE = "numpy/_core"
# The folder of generated files in the unpacked tree.
GENERATED = "generated"

# Templates of C files and headers, relative to `src`.
TEMPLATES = """
    npymath/npy_math_internal.h.src npymath/ieee754.c.src npymath/npy_math_complex.c.src
    common/templ_common.h.src common/npy_sort.h.src multiarray/arraytypes.h.src
    multiarray/arraytypes.c.src multiarray/einsum.c.src multiarray/einsum_sumprod.c.src
    multiarray/lowlevel_strided_loops.c.src multiarray/nditer_templ.c.src
    multiarray/scalartypes.c.src multiarray/argfunc.dispatch.c.src umath/loops.h.src
    umath/loops_utils.h.src umath/funcs.inc.src umath/matmul.h.src umath/loops.c.src
    umath/matmul.c.src umath/scalarmath.c.src umath/loops_arithm_fp.dispatch.c.src
    umath/loops_arithmetic.dispatch.c.src umath/loops_comparison.dispatch.c.src
    umath/loops_exponent_log.dispatch.c.src umath/loops_hyperbolic.dispatch.cpp.src
    umath/loops_minmax.dispatch.c.src umath/loops_modulo.dispatch.c.src
    umath/loops_umath_fp.dispatch.c.src umath/loops_unary.dispatch.c.src
    umath/loops_unary_fp.dispatch.c.src umath/loops_unary_fp_le.dispatch.c.src
    umath/loops_unary_complex.dispatch.c.src umath/loops_autovec.dispatch.c.src
    umath/loops_half.dispatch.c.src
"""
CYTHON = """
    _bounded_integers _common _mt19937 _philox _pcg64 _sfc64 bit_generator _generator mtrand
"""

# Sources that select a variant for the processor at run time: here only the portable one exists.
DISPATCH = re.compile(r"'(\w+\.dispatch\.h)'")
# These have no portable variant.
NO_BASELINE = ("x86_simd_", "highway_qsort")


def generate(tree):
    """Expands the templates, runs numpy's code generators, and translates `numpy.random` to C."""
    source, out = tree / "numpy", tree / GENERATED
    out.mkdir()
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(tree / "cython"),
    }

    def run(*command, cwd=source):
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode != 0:
            text = done.stdout.decode("utf-8", "replace").strip()
            raise Failed(f"generating numpy's sources with {command[0]} failed:\n{text}")

    tools = Path("numpy/_build_utils")
    for template in TEMPLATES.split():
        target = out / Path(template).name[: -len(".src")]
        # The path becomes part of the result.
        run(tools / "process_src_template.py", Path(CORE) / "src" / template, "-o", target)
    scripts = Path(CORE) / "code_generators"
    generated = out / "__umath_generated.c"
    run(scripts / "generate_umath.py", "-o", generated)
    run(scripts / "generate_umath_doc.py", "-o", out / "_umath_doc_generated.h")
    run(scripts / "generate_numpy_api.py", "-o", out, "--ignore", generated)
    run(scripts / "generate_ufunc_api.py", "-o", out)
    write_dispatch_headers(source, out)
    write_configuration(source)
    translate_random(source, out, run, tools)


def write_dispatch_headers(source, out):
    """The headers of numpy's choice between variants for processors: no features."""
    text = (source / "meson_cpu/main_config.h.in").read_text()
    for name, value in (
        ("@P@", "NPY_"),
        ("@WITH_CPU_BASELINE@", ""),
        ("@WITH_CPU_DISPATCH@", ""),
        ("@WITH_CPU_BASELINE_N@", "0"),
        ("@WITH_CPU_DISPATCH_N@", "0"),
    ):
        text = text.replace(name, value)
    (out / "npy_cpu_dispatch_config.h").write_text(re.sub(r"@\w+@", "", text))
    for name in sorted(set(DISPATCH.findall((source / CORE / "meson.build").read_text()))):
        portable = not name.startswith(NO_BASELINE)
        call = "NPY__MTARGETS_EXPAND(EXEC_CB(__VA_ARGS__))" if portable else ""
        (out / name).write_text(
            "#undef NPY__MTARGETS_EXPAND\n"
            "#define NPY__MTARGETS_EXPAND(X) X\n"
            "#undef NPY_MTARGETS_CONF_BASELINE\n"
            f"#define NPY_MTARGETS_CONF_BASELINE(EXEC_CB, ...) {call}\n"
            "#undef NPY_MTARGETS_CONF_DISPATCH\n"
            "#define NPY_MTARGETS_CONF_DISPATCH(TEST_CB, EXEC_CB, ...)\n"
        )


def write_configuration(source):
    """`numpy.__config__`, which reports how numpy was built."""
    text = (source / "numpy/__config__.py.in").read_text()
    text = text.replace("@CROSS_COMPILED@", "true")
    (source / "numpy/__config__.py").write_text(re.sub(r"@\w+@", "", text))


def translate_random(source, out, run, tools):
    """Translates `numpy.random` with Cython."""
    package = out / "cython" / "numpy"
    (package / "random").mkdir(parents=True)
    for name in ("__init__.pxd", "__init__.cython-30.pxd"):
        shutil.copy(source / "numpy" / name, package / name)
    for path in (source / "numpy/random").iterdir():
        if path.suffix in (".pxd", ".pyx"):
            shutil.copy(path, package / "random" / path.name)
    for folder in (package, package / "random"):
        (folder / "__init__.py").write_text("")
    for name in ("_bounded_integers.pxd", "_bounded_integers.pyx"):
        template = source / "numpy/random" / f"{name}.in"
        run(tools / "tempita.py", template, "-o", package / "random" / name)
    for name in CYTHON.split():
        module = f"numpy/random/{name}"
        run(
            "-m", "cython", "-3", "--fast-fail", f"{module}.pyx", "-o", f"{module}.c",
            cwd=package.parent,
        )  # fmt: skip


def key_of(changes):
    """Hash of what numpy's sources depend on, with these changes."""
    this = Path(__file__).read_bytes()
    return hash_of(repr((packages.NUMPY, packages.CYTHON, changes)), this)[:24]


def tree_key():
    """Hash of the unpacked and generated tree."""
    return key_of(numpy_changes.SUBSTITUTIONS)


def compiled_key():
    """Hash of the part of the tree that is compiled: changes of Python files do not affect it."""
    changes = numpy_changes.SUBSTITUTIONS
    return key_of([change for change in changes if not change.path.endswith(".py")])


def unpack(home, downloads):
    """The tree with numpy's sources, changed and completed, and Cython."""
    tree = home / "source" / f"numpy-{tree_key()}"
    if tree.exists():
        return tree
    source = packages.fetch_source(packages.NUMPY, "mesonpy", downloads)
    compiler = packages.fetch_wheel(packages.CYTHON, downloads)
    tree.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=tree.parent))
    try:
        sources.say("unpacking numpy and generating its sources")
        packages.unpack_source(source, partial / "numpy")
        with zipfile.ZipFile(compiler) as archive:
            archive.extractall(partial / "cython")
        for change in numpy_changes.SUBSTITUTIONS:
            sources.substitute(partial, change)
        generate(partial)
        shutil.rmtree(partial / "cython")
        os.rename(partial, tree)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return tree
