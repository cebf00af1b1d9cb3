"""Changes to CPython's sources so that programs see 64-bit Linux.

Pointers have 32 bits in the image. The substitutions change conversions wherever a program could
notice this, apart from the size of its memory: lengths of ranges, bounds, native sizes of `struct`
and `array`, error numbers. The functions are in `c/wide.c`.
"""

from downloads import Substitution

HEADER = (
    Substitution(
        "cpython/Include/Python.h",
        "declares what the changes below call",
        '#include "cpython/pyfpe.h"\n',
        '#include "cpython/pyfpe.h"\n#include "wide.h"\n',
    ),
)


def bounds(pattern, times):
    return Substitution(
        pattern,
        "arguments that are bounds or amounts",
        "ival = PyLong_AsSsize_t(iobj);",
        "ival = assay_as_bound(iobj);",
        times,
    )


USER = (
    Substitution(
        "cpython/Modules/posixmodule.c",
        "files belong to the user of `os.getuid` (`driver/system.py`)",
        "_PyLong_FromUid(st->st_uid)",
        "_PyLong_FromUid(1000)",
    ),
    Substitution(
        "cpython/Modules/posixmodule.c",
        "and to its group",
        "_PyLong_FromGid(st->st_gid)",
        "_PyLong_FromGid(1000)",
    ),
)

BOUNDS = (
    Substitution(
        "cpython/Modules/clinic/_collectionsmodule.c.h",
        "a deque turns by the remainder",
        "            ival = PyLong_AsSsize_t(iobj);\n"
        "            Py_DECREF(iobj);\n"
        "        }\n"
        "        if (ival == -1 && PyErr_Occurred()) {\n"
        "            goto exit;\n"
        "        }\n"
        "        n = ival;\n"
        "    }\n"
        "skip_optional:\n"
        "    Py_BEGIN_CRITICAL_SECTION(deque);\n"
        "    return_value = deque_rotate_impl(deque, n);\n",
        "            ival = assay_remainder(iobj, Py_SIZE(deque));\n"
        "            Py_DECREF(iobj);\n"
        "        }\n"
        "        if (ival == -1 && PyErr_Occurred()) {\n"
        "            goto exit;\n"
        "        }\n"
        "        n = ival;\n"
        "    }\n"
        "skip_optional:\n"
        "    Py_BEGIN_CRITICAL_SECTION(deque);\n"
        "    return_value = deque_rotate_impl(deque, n);\n",
    ),
    bounds("cpython/Objects/clinic/*.h", 18),
    bounds("cpython/Modules/clinic/*.h", 35),
    bounds("cpython/Modules/_io/clinic/*.h", 10),
    bounds("cpython/Modules/_sre/clinic/*.h", 16),
    bounds("cpython/Python/getargs.c", 1),
    Substitution(
        "cpython/Objects/abstract.c",
        "indices, counts of repetitions and lengths",
        "    result = PyLong_AsSsize_t(value);\n",
        "    result = assay_as_bound(value);\n",
    ),
    Substitution(
        "cpython/Objects/abstract.c",
        "hints of lengths",
        "    res = PyLong_AsSsize_t(result);\n",
        "    res = assay_as_bound(result);\n",
    ),
    Substitution(
        "cpython/Modules/_collectionsmodule.c",
        "a bound that is never reached",
        "        maxlen = PyLong_AsSsize_t(maxlenobj);\n",
        "        maxlen = assay_as_bound(maxlenobj);\n",
    ),
    Substitution(
        "cpython/Modules/_csv.c",
        "programs set it to `sys.maxsize`",
        "PyLong_AsSsize_t(new_limit);",
        "assay_as_bound(new_limit);",
    ),
)

LENGTHS = (
    Substitution(
        "cpython/Objects/rangeobject.c",
        "the nearest length, and the exact one",
        "range_length(rangeobject *r)\n{\n    return PyLong_AsSsize_t(r->length);\n}\n",
        "range_length(rangeobject *r)\n{\n    return assay_as_bound(r->length);\n}\n\n"
        "PyObject *assay_range_length(PyObject *range)\n{\n"
        "    return Py_NewRef(((rangeobject *)range)->length);\n}\n",
    ),
    Substitution(
        "cpython/Python/bltinmodule.c",
        "`len()`",
        "        assert(PyErr_Occurred());\n        return NULL;\n    }\n    return PyLong_FromSsize_t(res);\n",
        "        assert(PyErr_Occurred());\n        return NULL;\n    }\n    return assay_length(obj, res);\n",
    ),
    Substitution(
        "cpython/Python/generated_cases.c.h",
        "`len()` where the interpreter has specialised it",
        "            res = PyLong_FromSsize_t(len_i);\n",
        "            res = assay_length(arg, len_i);\n",
    ),
    Substitution(
        "cpython/Objects/typeobject.c",
        "`__len__()` of builtin types",
        "    lenfunc func = (lenfunc)wrapped;\n    Py_ssize_t res;\n\n    if (!check_num_args(args, 0))\n        return NULL;\n"
        "    res = (*func)(self);\n    if (res == -1 && PyErr_Occurred())\n        return NULL;\n    return PyLong_FromSsize_t(res);\n",
        "    lenfunc func = (lenfunc)wrapped;\n    Py_ssize_t res;\n\n    if (!check_num_args(args, 0))\n        return NULL;\n"
        "    res = (*func)(self);\n    if (res == -1 && PyErr_Occurred())\n        return NULL;\n    return assay_length(self, res);\n",
    ),
)

ITERTOOLS = "cpython/Modules/itertoolsmodule.c"

COUNTS = (
    Substitution(
        ITERTOOLS,
        "`islice` counts in 64 bits",
        "typedef struct {\n    PyObject_HEAD\n    PyObject *it;\n    Py_ssize_t next;\n",
        "#define Py_ssize_t long long\n#define PyNumber_AsSsize_t assay_as_int64\n#define PyLong_FromSsize_t PyLong_FromLongLong\n"
        "#define PyLong_AsSsize_t PyLong_AsLongLong\n\n"
        "typedef struct {\n    PyObject_HEAD\n    PyObject *it;\n    Py_ssize_t next;\n",
    ),
    Substitution(
        ITERTOOLS,
        "as it is pickled",
        '    return Py_BuildValue("O(OnNn)n", Py_TYPE(lz),\n',
        '    return Py_BuildValue("O(OLNL)L", Py_TYPE(lz),\n',
    ),
    Substitution(
        ITERTOOLS,
        "its step is added without overflow",
        "    lz->next += (size_t)lz->step;\n",
        "    lz->next += (unsigned long long)lz->step;\n",
    ),
    Substitution(
        ITERTOOLS,
        "the end of `islice`",
        "/* starmap object ",
        "#undef Py_ssize_t\n#undef PyNumber_AsSsize_t\n#undef PyLong_FromSsize_t\n#undef PyLong_AsSsize_t\n\n/* starmap object ",
    ),
    Substitution(
        ITERTOOLS,
        "`repeat` counts in 64 bits",
        "    PyObject *element;\n    Py_ssize_t cnt;\n} repeatobject;\n",
        "    PyObject *element;\n    long long cnt;\n} repeatobject;\n",
    ),
    Substitution(
        ITERTOOLS,
        "how often it repeats",
        "    Py_ssize_t cnt = -1, n_args;\n",
        "    long long cnt = -1;\n    Py_ssize_t n_args;\n",
    ),
    Substitution(ITERTOOLS, "as it is given", '"O|n:repeat"', '"O|L:repeat"'),
    Substitution(
        ITERTOOLS,
        "as it is shown",
        '        return PyUnicode_FromFormat("%s(%R, %zd)",\n'
        "                                    _PyType_Name(Py_TYPE(ro)), ro->element,\n"
        "                                    ro->cnt);\n",
        '        return PyUnicode_FromFormat("%s(%R, %lld)",\n'
        "                                    _PyType_Name(Py_TYPE(ro)), ro->element,\n"
        "                                    ro->cnt);\n",
    ),
    Substitution(
        ITERTOOLS,
        "what is left of it",
        "    return PyLong_FromSize_t(ro->cnt);\n",
        "    return PyLong_FromLongLong(ro->cnt);\n",
    ),
    Substitution(
        ITERTOOLS,
        "as it is pickled",
        '        return Py_BuildValue("O(On)", Py_TYPE(ro), ro->element, ro->cnt);\n',
        '        return Py_BuildValue("O(OL)", Py_TYPE(ro), ro->element, ro->cnt);\n',
    ),
)

MEMORYVIEW = "cpython/Objects/memoryobject.c"

SIZES = (
    Substitution(
        "cpython/Modules/arraymodule.c",
        "`long` has 8 bytes",
        "    {'l', sizeof(long), l_getitem, l_setitem, l_compareitems, \"l\", 1, 1},\n"
        "    {'L', sizeof(long), LL_getitem, LL_setitem, LL_compareitems, \"L\", 1, 0},\n",
        "    {'l', sizeof(long long), q_getitem, q_setitem, q_compareitems, \"l\", 1, 1},\n"
        "    {'L', sizeof(long long), QQ_getitem, QQ_setitem, QQ_compareitems, \"L\", 1, 0},\n",
    ),
    Substitution(
        "cpython/Modules/arraymodule.c",
        "the same as it is pickled",
        "    case 'l':\n        intsize = sizeof(long);\n        is_signed = 1;\n        break;\n"
        "    case 'L':\n        intsize = sizeof(long);\n",
        "    case 'l':\n        intsize = sizeof(long long);\n        is_signed = 1;\n        break;\n"
        "    case 'L':\n        intsize = sizeof(long long);\n",
    ),
    Substitution(
        "cpython/Modules/_struct.c",
        "`long` and `size_t` have 8 bytes",
        "    {'l',       sizeof(long),   LONG_ALIGN,     nu_long,        np_long},\n"
        "    {'L',       sizeof(long),   LONG_ALIGN,     nu_ulong,       np_ulong},\n"
        "    {'n',       sizeof(size_t), SIZE_T_ALIGN,   nu_ssize_t,     np_ssize_t},\n"
        "    {'N',       sizeof(size_t), SIZE_T_ALIGN,   nu_size_t,      np_size_t},\n",
        "    {'l',       sizeof(long long), LONG_LONG_ALIGN, nu_longlong, np_longlong},\n"
        "    {'L',       sizeof(long long), LONG_LONG_ALIGN, nu_ulonglong, np_ulonglong},\n"
        "    {'n',       sizeof(long long), LONG_LONG_ALIGN, nu_longlong, np_longlong},\n"
        "    {'N',       sizeof(long long), LONG_LONG_ALIGN, nu_ulonglong, np_ulonglong},\n",
    ),
    Substitution(
        "cpython/Modules/_struct.c",
        "pointers have 8 bytes",
        "    {'P',       sizeof(void *), VOID_P_ALIGN,   nu_void_p,      np_void_p},\n",
        "    {'P',       sizeof(long long), LONG_LONG_ALIGN, nu_ulonglong, np_ulonglong},\n",
    ),
    Substitution(
        MEMORYVIEW,
        "sizes of native formats",
        "    switch (fmt[0]) {\n    case 'c': case 'b': case 'B': size = sizeof(char); break;\n",
        "    switch (assay_native_code(fmt[0])) {\n    case 'c': case 'b': case 'B': size = sizeof(char); break;\n",
    ),
    Substitution(
        MEMORYVIEW,
        "reading items of them",
        "    switch (fmt[0]) {\n\n    /* signed integers and fast path for 'B' */\n    case 'B': uc",
        "    switch (assay_native_code(fmt[0])) {\n\n    /* signed integers and fast path for 'B' */\n    case 'B': uc",
    ),
    Substitution(
        MEMORYVIEW,
        "writing items of them",
        "    switch (fmt[0]) {\n    /* signed integers */\n",
        "    switch (assay_native_code(fmt[0])) {\n    /* signed integers */\n",
    ),
    Substitution(
        MEMORYVIEW,
        "comparing items of them",
        "    switch (fmt) {\n\n    /* signed integers and fast path for 'B' */\n",
        "    switch (assay_native_code(fmt)) {\n\n    /* signed integers and fast path for 'B' */\n",
    ),
)

READS = (
    Substitution(
        "cpython/Modules/_io/bufferedio.c",
        "room for a huge read would be set aside at once",
        "    if (n == -1) {\n        /* The number of bytes is unspecified, read until the end of stream */\n",
        "    if (n == -1 || n >= ASSAY_WHOLE_STREAM) {\n"
        "        /* The number of bytes is unspecified, read until the end of stream */\n",
    ),
    Substitution(
        "cpython/Modules/_io/bufferedio.c",
        "the same of a part of it, which text streams ask for",
        "    if (n < 0) {\n        n = self->buffer_size;\n    }\n",
        "    if (n < 0) {\n        n = self->buffer_size;\n    }\n    n = Py_MIN(n, ASSAY_PART_OF_STREAM);\n",
    ),
    Substitution(
        "cpython/Modules/_io/fileio.c",
        "the same without a buffer",
        "    if (size < 0)\n        return _io_FileIO_readall_impl(self);\n\n    if (size > _PY_READ_MAX) {\n",
        "    if (size < 0 || size >= ASSAY_WHOLE_STREAM)\n        return _io_FileIO_readall_impl(self);\n\n"
        "    if (size > _PY_READ_MAX) {\n",
    ),
    Substitution(
        "cpython/Modules/posixmodule.c",
        "the same of `os.read`: a file, or standard input, has no more than its size",
        "    length = Py_MIN(length, _PY_READ_MAX);\n\n    buffer = PyBytes_FromStringAndSize((char *)NULL, length);\n"
        "    if (buffer == NULL)\n        return NULL;\n\n    n = _Py_read(fd,",
        "    length = Py_MIN(length, _PY_READ_MAX);\n"
        "    struct stat status;\n"
        "    if (length > 65536 && fstat(fd, &status) == 0 && status.st_size < length) {\n"
        "        length = Py_MAX((Py_ssize_t)status.st_size, 65536);\n"
        "    }\n\n"
        "    buffer = PyBytes_FromStringAndSize((char *)NULL, length);\n"
        "    if (buffer == NULL)\n        return NULL;\n\n    n = _Py_read(fd,",
    ),
)

ERRORS = (
    Substitution(
        "cpython/Python/errors.c",
        "exceptions carry the numbers of Linux",
        "        const char *s = strerror(i);\n"
        '        message = PyUnicode_DecodeLocale(s, "surrogateescape");\n'
        "    }\n"
        "    else {\n"
        "        /* Sometimes errno didn't get set */\n",
        "        const char *s = assay_strerror(i);\n"
        '        message = PyUnicode_DecodeLocale(s, "surrogateescape");\n'
        "        i = assay_linux_errno(i);\n"
        "    }\n"
        "    else {\n"
        "        /* Sometimes errno didn't get set */\n",
    ),
    Substitution(
        "cpython/Modules/errnomodule.c",
        "and so do names",
        "PyLong_FromLong(code_int)",
        "PyLong_FromLong(assay_linux_errno(code_int))",
    ),
    Substitution(
        "cpython/Objects/exceptions.c",
        "from which the class of an exception follows",
        "PyObject *_code = PyLong_FromLong(CODE); \\\n        assert(_PyObject_RealIsSubclass(PyExc_ ## TYPE,",
        "PyObject *_code = PyLong_FromLong(assay_linux_errno(CODE)); \\\n        assert(_PyObject_RealIsSubclass(PyExc_ ## TYPE,",
    ),
    Substitution(
        "cpython/Modules/posixmodule.c",
        "and their texts",
        "    char *message = strerror(code);\n",
        "    const char *message = assay_strerror(assay_own_errno(code));\n",
    ),
)

WAITS = (
    Substitution(
        "cpython/Python/parking_lot.c",
        "there is no other thread: a wait with a timeout is a sleep, and one without ends at once",
        "    int res = _PySemaphore_PlatformWait(sema, timeout);\n",
        "    int res = assay_wait_alone(timeout);\n",
    ),
    Substitution(
        "cpython/Python/lock.c",
        "as an exception, instead of waiting for ever",
        "            if (Py_MakePendingCalls() < 0) {\n",
        "            if (assay_refuse_wait() < 0) {\n",
    ),
    Substitution(
        "cpython/Modules/_queuemodule.c",
        "the same of `SimpleQueue`",
        "                if (Py_MakePendingCalls() < 0) {\n",
        "                if (assay_refuse_wait() < 0) {\n",
    ),
)

REFUSALS = (
    Substitution(
        "cpython/Lib/subprocess.py",
        "it imports without the C part, whatever `sys.platform` says",
        '_can_fork_exec = sys.platform not in {"emscripten", "wasi", "ios", "tvos", "watchos"}\n',
        "_can_fork_exec = False\n",
    ),
    Substitution(
        "cpython/Lib/subprocess.py",
        "the refusal says what refuses",
        "            raise OSError(\n"
        '                errno.ENOTSUP, f"{sys.platform} does not support processes."\n'
        "            )\n",
        "            from _assay import refusals\n"
        '            raise refusals.refusal("process", "subprocess.Popen")\n',
    ),
    Substitution(
        "cpython/Lib/multiprocessing/synchronize.py",
        "it is imported again below, where a missing module is reported",
        "import tempfile\nimport _multiprocessing\n",
        "import tempfile\n",
    ),
    Substitution(
        "cpython/Lib/multiprocessing/synchronize.py",
        "the refusal says what refuses",
        '    raise ImportError("This platform lacks a functioning sem_open" +\n'
        '                      " implementation, therefore, the required" +\n'
        '                      " synchronization primitives needed will not" +\n'
        '                      " function, see issue 3770.")\n',
        "    from _assay import refusals\n"
        '    raise refusals.refusal("process", "multiprocessing")\n',
    ),
    Substitution(
        "cpython/Lib/multiprocessing/pool.py",
        "pools do their work in place",
        "    def _wait_for_updates(self, sentinels, change_notifier, timeout):\n        time.sleep(timeout)\n",
        "    def _wait_for_updates(self, sentinels, change_notifier, timeout):\n        time.sleep(timeout)\n\n\n"
        "from _assay.pools import Pool, ThreadPool\n",
    ),
    Substitution(
        "cpython/Lib/concurrent/futures/process.py",
        "the same of executors",
        "    shutdown.__doc__ = _base.Executor.shutdown.__doc__\n",
        "    shutdown.__doc__ = _base.Executor.shutdown.__doc__\n\n\nfrom _assay.pools import ProcessPoolExecutor\n",
    ),
    Substitution(
        "cpython/Lib/zoneinfo/_common.py",
        "UTC is known without a database",
        "def load_tzdata(key):\n    from importlib import resources\n",
        "def load_tzdata(key):\n"
        '    if key in ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Zulu", "Etc/Zulu"):\n'
        "        import io\n"
        '        name = b"GMT" if "GMT" in key else b"UTC"\n'
        '        part = b"TZif2" + bytes(31) + b"\\0\\0\\0\\1\\0\\0\\0\\4" + bytes(6) + name + b"\\0"\n'
        '        return io.BytesIO(part + part + b"\\n" + name + b"0\\n")\n'
        "    from importlib import resources\n",
    ),
)

PARSER = (
    Substitution(
        "cpython/Parser/parser.c",
        "brackets may be nested as deep as on Linux",
        "#    define MAXSTACK 4000\n",
        "#    define MAXSTACK 6000\n",
    ),
)

LINUX = (
    HEADER + BOUNDS + LENGTHS + COUNTS + SIZES + READS + ERRORS + WAITS + USER + REFUSALS + PARSER
)
