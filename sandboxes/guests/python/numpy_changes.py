"""Changes to numpy's sources: what WASI lacks, and integers and indices of 64 bits.

Pointers have 32 bits in the image, so numpy's index type has 32 bits, and on such a platform its
default integer has too. Programs written for 64-bit Linux would then overflow silently. The second
table makes the default integer 64 bits wide and converts indices where they enter and leave numpy
(`c_numpy/index.c`).
"""

from substitutions import Substitution

CORE = "numpy/_core/src"


def change(path, reason, old, new, times=1):
    return Substitution(f"numpy/{path}", reason, old, new, times)


def core(path, reason, old, new, times=1):
    return change(f"{CORE}/{path}", reason, old, new, times)


PLATFORM = (
    change(
        "numpy/_core/include/numpy/npy_cpu.h",
        "WebAssembly is known only under the name of one compiler",
        "#elif defined(__EMSCRIPTEN__)",
        "#elif defined(__EMSCRIPTEN__) || defined(__wasm__)",
    ),
    core(
        "multiarray/unique.cpp",
        "no C++ exceptions: running out of memory is a trap",
        "    try {\n        auto type = PyArray_TYPE(arr);",
        "    {\n        auto type = PyArray_TYPE(arr);",
    ),
    core(
        "multiarray/unique.cpp",
        "the other end of it",
        "    catch (const std::bad_alloc &e) {\n"
        "        PyErr_NoMemory();\n"
        "        return NULL;\n"
        "    }\n"
        "    catch (const std::exception &e) {\n"
        "        PyErr_SetString(PyExc_RuntimeError, e.what());\n"
        "        return NULL;\n"
        "    }\n",
        "",
    ),
    core(
        "multiarray/unique.cpp",
        "with one thread, the macros that take the lock again are empty, so it must not be released",
        "    PyThreadState *_save;\n    _save = PyEval_SaveThread();\n",
        "",
    ),
    core(
        "multiarray/unique.cpp",
        "the other end of it",
        "    auto grab_gil = finally([&]() { PyEval_RestoreThread(_save); });\n",
        "",
    ),
    change(
        "numpy/fft/_pocketfft_umath.cpp",
        "no C++ exceptions",
        "    try {\n        cpp_ufunc(args, dimensions, steps, func);\n    }\n"
        "    catch (std::bad_alloc& e) {\n"
        "        NPY_ALLOW_C_API;\n"
        "        PyErr_NoMemory();\n"
        "        NPY_DISABLE_C_API;\n"
        "    }\n"
        "    catch (const std::exception& e) {\n"
        "        NPY_ALLOW_C_API;\n"
        "        PyErr_SetString(PyExc_RuntimeError, e.what());\n"
        "        NPY_DISABLE_C_API;\n"
        "    }\n",
        "    cpp_ufunc(args, dimensions, steps, func);\n",
    ),
    change(
        "numpy/fft/pocketfft/pocketfft_hdronly.h",
        "no C++ exceptions",
        "throw std::bad_alloc();",
        "__builtin_trap();",
        3,
    ),
    change(
        "numpy/fft/pocketfft/pocketfft_hdronly.h",
        "conditions that the Python code checks before",
        "throw std::runtime_error(",
        "assay_trap(",
        11,
    ),
    change(
        "numpy/fft/pocketfft/pocketfft_hdronly.h",
        "conditions that the Python code checks before",
        "throw std::invalid_argument(",
        "assay_trap(",
        5,
    ),
    change(
        "numpy/_core/printoptions.py",
        "the driver changes `sys.maxsize`, which this module compares with a constant",
        "'legacy': sys.maxsize",
        "'legacy': 0x7fffffff",
    ),
    change(
        "numpy/_core/arrayprint.py",
        "as above",
        "options['legacy'] = sys.maxsize",
        "options['legacy'] = 0x7fffffff",
        2,
    ),
    change(
        "numpy/_core/arrayprint.py",
        "as above",
        "'2.2', sys.maxsize: False",
        "'2.2', 0x7fffffff: False",
    ),
    change(
        "numpy/lib/_format_impl.py",
        "C's files cannot be opened from a descriptor; `save` and `load` write and read through Python",
        "        f.fileno()\n        return True\n",
        "        f.fileno()\n        return False\n",
    ),
    change(
        "numpy/testing/_private/utils.py",
        "modules of the image have no files",
        "NUMPY_ROOT = pathlib.Path(np.__file__).parent",
        'NUMPY_ROOT = pathlib.Path("/numpy")',
    ),
)

DEFAULT = (
    change(
        "numpy/_core/include/numpy/npy_2_compat.h",
        "the default integer",
        "    #define NPY_DEFAULT_INT NPY_INTP",
        "    #define NPY_DEFAULT_INT NPY_LONGLONG",
    ),
    change(
        "numpy/_core/include/numpy/npy_2_compat.h",
        "the default integer",
        "? NPY_INTP : NPY_LONG)",
        "? NPY_LONGLONG : NPY_LONG)",
    ),
    core(
        "multiarray/abstractdtypes.c",
        "the type of a Python integer",
        "        if (NPY_MIN_INTP <= value && value <= NPY_MAX_INTP) {\n"
        "            return PyArray_DescrFromType(NPY_INTP);\n"
        "        }\n",
        "",
    ),
    core(
        "multiarray/abstractdtypes.c",
        "the type of a Python integer",
        "{\n    return PyArray_DescrFromType(NPY_INTP);",
        "{\n    return PyArray_DescrFromType(NPY_DEFAULT_INT);",
    ),
    core(
        "multiarray/abstractdtypes.c",
        "the type of a Python integer",
        "&PyArray_IntpDType",
        "&PyArray_DefaultIntDType",
        2,
    ),
    core(
        "multiarray/descriptor.c",
        "`dtype=int`",
        "typ == &PyLong_Type) {\n        return PyArray_DescrFromType(NPY_INTP);",
        "typ == &PyLong_Type) {\n        return PyArray_DescrFromType(NPY_DEFAULT_INT);",
    ),
    core(
        "multiarray/convert_datatype.c",
        "the type of a Python integer",
        "default_dtype = PyArray_DescrNewFromType(NPY_INTP);",
        "default_dtype = PyArray_DescrNewFromType(NPY_DEFAULT_INT);",
    ),
    core(
        "multiarray/ctors.c",
        "`arange`",
        "        dtype = PyArray_DescrFromType(NPY_INTP);\n        Py_SETREF",
        "        dtype = PyArray_DescrFromType(NPY_DEFAULT_INT);\n        Py_SETREF",
    ),
    core(
        "umath/ufunc_object.c",
        "sums and products",
        "                typenum = NPY_INTP;\n"
        "            }\n"
        "            else if ((size_t)PyArray_ITEMSIZE(arr) < sizeof(npy_intp)) {",
        "                typenum = NPY_DEFAULT_INT;\n"
        "            }\n"
        "            else if ((size_t)PyArray_ITEMSIZE(arr) < sizeof(npy_longlong)) {",
    ),
    core(
        "umath/ufunc_object.c",
        "sums and products",
        "                    typenum = NPY_UINTP;\n"
        "                }\n"
        "                else {\n"
        "                    typenum = NPY_INTP;",
        "                    typenum = NPY_ULONGLONG;\n"
        "                }\n"
        "                else {\n"
        "                    typenum = NPY_DEFAULT_INT;",
    ),
    core(
        "umath/ufunc_object.c",
        "`int` as an operand's type",
        "&PyLong_Type) {\n            descr = PyArray_DescrFromType(NPY_INTP);",
        "&PyLong_Type) {\n            descr = PyArray_DescrFromType(NPY_DEFAULT_INT);",
    ),
    core(
        "umath/string_ufuncs.cpp",
        "the loops of these functions assume that the default integer is an index",
        "        *(npy_intp *)out = ",
        "        *(npy_longlong *)out = ",
        3,
    ),
    core(
        "umath/stringdtype_ufuncs.cpp",
        "as above",
        "        *(npy_intp *)out = ",
        "        *(npy_longlong *)out = ",
        2,
    ),
    change(
        "numpy/_core/_type_aliases.py",
        "the names of the default integer and of the index",
        '    "int_": "intp",\n    "uint": "uintp",\n',
        '    "int_": "int64",\n    "uint": "uint64",\n    "intp": "int64",\n    "uintp": "uint64",\n',
    ),
    change(
        "numpy/_core/strings.py",
        "the bounds of a slice are indices of numpy's own size",
        "np.iinfo(np.intp)",
        "np.iinfo(np.int32)",
        3,
    ),
)


def includes(path):
    return core(
        path,
        "declares what the changes below call",
        '#include "npy_config.h"\n',
        '#include "npy_config.h"\n#include "index.h"\n',
    )


def wide(path, old, new, times=1):
    return core(path, "indices and counts that a function returns", old, new, times)


def own(path, old, new, times=1):
    return core(path, "indices and counts that a function accepts", old, new, times)


METHODS = "multiarray/methods.c"
MODULE = "multiarray/multiarraymodule.c"
COMPILED = "multiarray/compiled_base.c"

INDICES = tuple(
    includes(f"multiarray/{name}.c")
    for name in "methods multiarraymodule compiled_base mapping iterators ctors".split()
) + (
    wide(
        METHODS,
        "_PyArray_ArgMaxWithKeepdims(self, axis, out, keepdims);\n",
        "_PyArray_ArgMaxWithKeepdims(self, axis, out, keepdims);\n"
        "    ret = out == NULL ? assay_wide_indices(ret) : ret;\n",
    ),
    wide(
        METHODS,
        "_PyArray_ArgMinWithKeepdims(self, axis, out, keepdims);\n",
        "_PyArray_ArgMinWithKeepdims(self, axis, out, keepdims);\n"
        "    ret = out == NULL ? assay_wide_indices(ret) : ret;\n",
    ),
    wide(
        METHODS,
        "res = PyArray_ArgSort(self, axis, sortkind);",
        "res = assay_wide_indices(PyArray_ArgSort(self, axis, sortkind));",
    ),
    wide(
        METHODS,
        "res = PyArray_ArgPartition(self, ktharray, axis, sortkind);",
        "res = assay_wide_indices(PyArray_ArgPartition(self, ktharray, axis, sortkind));",
    ),
    wide(
        METHODS,
        "(PyArrayObject *)PyArray_SearchSorted(self, keys, side, sorter)",
        "(PyArrayObject *)assay_wide_indices(PyArray_SearchSorted(self, keys, side, sorter))",
    ),
    wide(
        METHODS,
        "return PyArray_Nonzero(self);",
        "return assay_wide_indices(PyArray_Nonzero(self));",
    ),
    wide(
        MODULE,
        "return PyArray_Where(obj, x, y);",
        "return x == NULL && y == NULL ? assay_wide_indices(PyArray_Where(obj, x, y))\n"
        "                                  : PyArray_Where(obj, x, y);",
    ),
    wide(
        MODULE,
        "(PyArrayObject *)PyArray_LexSort(obj, axis)",
        "(PyArrayObject *)assay_wide_indices(PyArray_LexSort(obj, axis))",
    ),
    wide(
        MODULE,
        "    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INTP);\n"
        "    if (descr == NULL) {\n"
        "        return NULL;\n"
        "    }\n"
        "    return PyArray_Scalar(&count, descr, NULL);",
        "    PyArray_Descr *descr = PyArray_DescrFromType(NPY_LONGLONG);\n"
        "    if (descr == NULL) {\n"
        "        return NULL;\n"
        "    }\n"
        "    npy_longlong wide = count;\n"
        "    return PyArray_Scalar(&wide, descr, NULL);",
    ),
    wide(
        COMPILED,
        "        Py_DECREF(lst);\n        return (PyObject *)ans;\n    }\n\n    numbers = ",
        "        Py_DECREF(lst);\n"
        "        return assay_wide_indices((PyObject *)ans);\n    }\n\n    numbers = ",
    ),
    wide(
        COMPILED,
        "            ians[numbers[i]] += 1;\n        NPY_END_ALLOW_THREADS;\n        Py_DECREF(lst);\n",
        "            ians[numbers[i]] += 1;\n"
        "        NPY_END_ALLOW_THREADS;\n"
        "        Py_DECREF(lst);\n"
        "        return assay_wide_indices((PyObject *)ans);\n",
    ),
    wide(
        COMPILED,
        "    NpyIter_Deallocate(iter);\n    return PyArray_Return(ret);\n",
        "    NpyIter_Deallocate(iter);\n"
        "    return PyArray_Return((PyArrayObject *)assay_wide_indices((PyObject *)ret));\n",
    ),
    wide(
        COMPILED,
        "PyTuple_SET_ITEM(ret_tuple, i, PyArray_Return(view));",
        "PyTuple_SET_ITEM(ret_tuple, i, PyArray_Return(\n"
        "                (PyArrayObject *)assay_wide_indices((PyObject *)view)));",
    ),
    own(
        COMPILED,
        "            PyArray_Descr* local_dtype = PyArray_DescrFromType(NPY_INTP);\n"
        "            lst = ",
        "            if ((tmp1 = assay_own_indices(tmp1)) == NULL) {\n"
        "                goto fail;\n"
        "            }\n"
        "            PyArray_Descr* local_dtype = PyArray_DescrFromType(NPY_INTP);\n"
        "            lst = ",
    ),
    own(
        COMPILED,
        "        PyArray_Descr* local_dtype = PyArray_DescrFromType(NPY_INTP);\n"
        "        lst = (PyArrayObject *)PyArray_FromAny(list, local_dtype, 1, 1, flags, NULL);\n",
        "        PyArray_Descr* local_dtype = PyArray_DescrFromType(NPY_INTP);\n"
        "        PyObject *amounts = PyArray_Check(list)\n"
        "                ? (PyObject *)assay_own_indices((PyArrayObject *)Py_NewRef(list))\n"
        "                : Py_NewRef(list);\n"
        "        lst = amounts == NULL ? NULL\n"
        "                : (PyArrayObject *)PyArray_FromAny(amounts, local_dtype, 1, 1, flags, NULL);\n"
        "        Py_XDECREF(amounts);\n",
    ),
    own(
        "multiarray/mapping.c",
        "        /* Check if the array is valid and fill the information */\n",
        "        arr = assay_own_indices(arr);\n"
        "        if (arr == NULL) {\n"
        "            goto failed_building_indices;\n"
        "        }\n\n"
        "        /* Check if the array is valid and fill the information */\n",
    ),
    # Where numpy asks for an array of indices without forcing a conversion, 64-bit integers are
    # one.
    own(
        "multiarray/ctors.c",
        "    /* Raise an error if the casting rule isn't followed */\n",
        "    if (casting != NPY_UNSAFE_CASTING && newtype->type_num == NPY_INTP\n"
        "            && oldtype->type_num == NPY_LONGLONG) {\n"
        "        PyArrayObject *indices = assay_own_indices((PyArrayObject *)Py_NewRef(arr));\n"
        "        if (indices == NULL) {\n"
        "            Py_DECREF(newtype);\n"
        "            return NULL;\n"
        "        }\n"
        "        PyObject *same = PyArray_FromArray(indices, newtype, flags);\n"
        "        Py_DECREF(indices);\n"
        "        return same;\n"
        "    }\n\n"
        "    /* Raise an error if the casting rule isn't followed */\n",
    ),
)


def random(path, old, new, times=1):
    return change(
        f"numpy/random/{path}",
        "the old generators use `long`, which has 64 bits on Linux",
        old,
        new,
        times,
    )


RANDOM = (
    change(
        "numpy/_core/include/numpy/random/distributions.h",
        "one set of functions for the old and the new generators",
        "#define RAND_INT_TYPE long\n#define RAND_INT_MAX LONG_MAX\n",
        "#define RAND_INT_TYPE int64_t\n#define RAND_INT_MAX INT64_MAX\n",
    ),
    random("_common.pyx", "np.iinfo('l').max", "np.iinfo('q').max", 2),
    random("mtrand.pyx", "return <long>", "return <int64_t>", 2),
    random("mtrand.pyx", "x.astype('l', casting='unsafe')", "x.astype('q', casting='unsafe')"),
    random("mtrand.pyx", "size=size, dtype='l')", "size=size, dtype='q')"),
    random("mtrand.pyx", 'np.dtype("long")', 'np.dtype("int64")'),
    random("mtrand.pyx", "np.long)", "np.int64)", 6),
    random("mtrand.pyx", "np.long,", "np.int64,"),
    random("mtrand.pyx", "long n, long *mnix", "int64_t n, int64_t *mnix"),
    random("mtrand.pyx", "cdef long ", "cdef int64_t ", 3),
    random("mtrand.pyx", "(<long*>", "(<int64_t*>"),
    random("mtrand.pyx", "<long *>", "<int64_t *>"),
    random("mtrand.pyx", "= <long*>", "= <int64_t*>"),
    random("mtrand.pyx", "def multinomial(self, long n,", "def multinomial(self, int64_t n,"),
    random(
        "src/legacy/legacy-distributions.c",
        "    const long i = random_poisson",
        "    const int64_t i = random_poisson",
    ),
    random(
        "src/legacy/legacy-distributions.c",
        "static long legacy_geometric_inversion",
        "static int64_t legacy_geometric_inversion",
    ),
    random("src/legacy/legacy-distributions.c", "return (long)ceil", "return (int64_t)ceil"),
    random("src/legacy/legacy-distributions.c", "  long result;", "  int64_t result;"),
    random("src/legacy/legacy-distributions.c", "result = (long)floor", "result = (int64_t)floor"),
)

SUBSTITUTIONS = PLATFORM + DEFAULT + INDICES + RANDOM
