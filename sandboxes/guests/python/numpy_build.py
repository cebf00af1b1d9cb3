"""numpy, compiled statically into an image.

The headers in `c_numpy/` describe WASI, and the tables here list the files of numpy 2.3. This file
owns these tables and the compiler flags, `numpy_sources.py` the sources.
"""

import json
from pathlib import Path
from typing import NamedTuple, Tuple

import sources
from cpython import PYTHON_H
from numpy_sources import CORE, CYTHON, GENERATED, compiled_key
from toolchain import GUEST, hash_of

# Like numpy's own build for a processor without vector instructions. A failed assertion would
# contain a path.
OPTIMISE = (
    "-O2",
    "-g0",
    "-w",
    "-DNDEBUG",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fvisibility=hidden",
)
C = ("-std=gnu11",)
# Headers of CPython use C's `restrict`.
CPP = (
    "-std=c++17",
    "-fno-exceptions",
    "-fno-rtti",
    "-Drestrict=__restrict",
    "-Dassay_trap(message)=__builtin_trap()",
)
INTERNAL = ("-DNPY_INTERNAL_BUILD", "-DHAVE_NPY_CONFIG_H")
BASELINE = ("-DNPY_MTARGETS_BASELINE",)
RANDOM_FLAGS = ("-DNPY_NO_DEPRECATED_API=0",)

CORE_FOLDERS = """
    include src/common src/multiarray src/multiarray/stringdtype src/npymath src/umath src/highway
    include/numpy
"""

COMMON = """
    array_assign.c blas_utils.c gil_utils.c mem_overlap.c npy_argparse.c npy_hashtable.cpp
    npy_import.c npy_longdouble.c ufunc_override.c numpyos.c npy_cpu_features.c npy_cpu_dispatch.c
"""
MATH = "halffloat.cpp npy_math.c ieee754.c.src npy_math_complex.c.src arm64_exports.c"
MULTIARRAY = """
    abstractdtypes.c alloc.c arrayobject.c array_coercion.c array_converter.c array_method.c
    array_api_standard.c array_assign_scalar.c array_assign_array.c arrayfunction_override.c
    arraytypes.c.src arraywrap.c buffer.c calculation.c compiled_base.c common.c common_dtype.c
    convert.c convert_datatype.c conversion_utils.c ctors.c datetime.c datetime_strings.c
    datetime_busday.c datetime_busdaycal.c descriptor.c dlpack.c dtypemeta.c dragon4.c
    dtype_transfer.c dtype_traversal.c einsum.c.src einsum_sumprod.c.src public_dtype_api.c
    flagsobject.c getset.c hashdescr.c item_selection.c iterators.c legacy_dtype_implementation.c
    lowlevel_strided_loops.c.src mapping.c methods.c multiarraymodule.c nditer_api.c
    nditer_constr.c nditer_pywrap.c nditer_templ.c.src npy_static_data.c number.c refcount.c
    scalartypes.c.src sequence.c scalarapi.c shape.c strfuncs.c stringdtype/casts.cpp
    stringdtype/dtype.c stringdtype/utf8_utils.c stringdtype/static_string.c temp_elide.c
    unique.cpp usertypes.c vdot.c textreading/conversions.c textreading/field_types.c
    textreading/growth.c textreading/readtext.c textreading/rows.c textreading/stream_pyobject.c
    textreading/str_to_int.c textreading/tokenize.cpp argfunc.dispatch.c.src
"""
SORT = "quicksort.cpp mergesort.cpp timsort.cpp heapsort.cpp radixsort.cpp selection.cpp binsearch.cpp"
UMATH = """
    loops.c.src matmul.c.src ufunc_type_resolution.c clip.cpp dispatching.cpp extobj.c
    legacy_array_method.c override.c reduction.c scalarmath.c.src ufunc_object.c umathmodule.c
    special_integer_comparisons.cpp string_ufuncs.cpp stringdtype_ufuncs.cpp
    wrapping_array_method.c _scaled_float_dtype.c loops_arithm_fp.dispatch.c.src
    loops_arithmetic.dispatch.c.src loops_comparison.dispatch.c.src
    loops_exponent_log.dispatch.c.src loops_hyperbolic.dispatch.cpp.src loops_logical.dispatch.cpp
    loops_minmax.dispatch.c.src loops_modulo.dispatch.c.src loops_trigonometric.dispatch.cpp
    loops_umath_fp.dispatch.c.src loops_unary.dispatch.c.src loops_unary_fp.dispatch.c.src
    loops_unary_fp_le.dispatch.c.src loops_unary_complex.dispatch.c.src
    loops_autovec.dispatch.c.src loops_half.dispatch.c.src
"""
LINALG = """
    lapack_litemodule.c umath_linalg.cpp lapack_lite/python_xerbla.c lapack_lite/f2c.c
    lapack_lite/f2c_c_lapack.c lapack_lite/f2c_d_lapack.c lapack_lite/f2c_s_lapack.c
    lapack_lite/f2c_z_lapack.c lapack_lite/f2c_blas.c lapack_lite/f2c_config.c
    lapack_lite/f2c_lapack.c
"""
RANDOM = """
    distributions/logfactorial distributions/distributions distributions/random_mvhg_count
    distributions/random_mvhg_marginals distributions/random_hypergeometric mt19937/mt19937
    mt19937/mt19937-jump philox/philox pcg64/pcg64 sfc64/sfc64 legacy/legacy-distributions
"""

# Rows of the table of built-in modules.
MODULES = {
    "numpy._core._multiarray_umath": "PyInit__multiarray_umath",
    "numpy.linalg.lapack_lite": "PyInit_lapack_lite",
    "numpy.linalg._umath_linalg": "PyInit__umath_linalg",
    "numpy.fft._pocketfft_umath": "PyInit__pocketfft_umath",
    **{f"numpy.random.{name}": f"PyInit_{name}" for name in CYTHON.split()},
}


class NumpyUnit(NamedTuple):
    """A file to compile, relative to the unpacked tree or, with `own`, to `c_numpy/`."""

    source: str
    flags: Tuple[str, ...] = ()
    own: bool = False


def units():
    found = [NumpyUnit("index.c", INTERNAL, own=True)]
    tables = {"common": COMMON, "npymath": MATH, "multiarray": MULTIARRAY, "npysort": SORT}
    for folder, names in {**tables, "umath": UMATH}.items():
        for name in names.split():
            flags = INTERNAL + (BASELINE if ".dispatch." in name else ())
            path = f"numpy/{CORE}/src/{folder}/{name}"
            if name.endswith(".src"):
                path = f"{GENERATED}/{Path(name).name[: -len('.src')]}"
            found.append(NumpyUnit(path, flags))
    found += [NumpyUnit(f"numpy/numpy/linalg/{name}") for name in LINALG.split()]
    found.append(NumpyUnit("numpy/numpy/fft/_pocketfft_umath.cpp"))
    found += [NumpyUnit(f"numpy/numpy/random/src/{name}.c", RANDOM_FLAGS) for name in RANDOM.split()]
    translated = f"{GENERATED}/cython/numpy/random"
    found += [NumpyUnit(f"{translated}/{name}.c", RANDOM_FLAGS) for name in CYTHON.split()]
    return found


def compile_one(steps, tree, own, unit):
    """Compiles one file of numpy with the headers of CPython."""
    is_cpp = unit.source.endswith(".cpp")
    flags = list(OPTIMISE + (CPP if is_cpp else C) + unit.flags)
    path = own / unit.source if unit.own else tree / unit.source
    headers = hash_of(*(header.read_bytes() for header in sorted(own.rglob("*.h"))))
    key = hash_of(
        sources.ZIG,
        sources.inputs_of(""),
        steps.headers,
        headers,
        json.dumps(flags),
        unit.source,
        path.read_bytes() if unit.own else compiled_key(),
    )
    folders = [own, tree / GENERATED]
    folders += [tree / "numpy" / CORE / folder for folder in CORE_FOLDERS.split()]
    folders += [tree / "numpy/numpy" / folder for folder in ("fft", "random", "random/src")]
    command = [str(steps.zig), "c++" if is_cpp else "cc", "-target", GUEST, "-c", str(path)]
    command += [f"-I{folder}" for folder in folders] + list(PYTHON_H) + [f"-I{steps.own}"]
    command += flags + [f"-ffile-prefix-map={tree}=numpy", f"-ffile-prefix-map={own}=guest"]
    command += [f"-ffile-prefix-map={steps.own}=guest"]
    return steps.kept(
        key, ".o", lambda out: steps.run(command + ["-o", str(out)], f"compiling {unit.source}")
    )


def objects(steps, tree, own):
    """Compiles numpy."""
    sources.say("compiling numpy")
    return steps.each(lambda unit: compile_one(steps, tree, own, unit), units())
