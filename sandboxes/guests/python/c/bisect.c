/* The module `_bisect`, in place of CPython's: indices have 64 bits, so that a
 * `range` or a class with a large `__len__` can be searched completely.
 */
#include "wide.h"

#include "pycore_abstract.h"
#include "pycore_modsupport.h"

enum side { LEFT, RIGHT };

/* The arguments of all functions of the module. */
struct search {
    PyObject *sequence;
    PyObject *item;
    PyObject *key;
    long long lo;
    long long hi;
};

static const char *const names[] = {"a", "x", "lo", "hi", "key", NULL};

static int read_arguments(PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                          _PyArg_Parser *parser, struct search *search)
{
    PyObject *room[5];
    PyObject *const *given =
        _PyArg_UnpackKeywords(args, count, NULL, keywords, parser, 2, 4, 0, room);
    if (!given) {
        return -1;
    }
    Py_ssize_t optional = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0) - 2;
    *search = (struct search){.sequence = given[0], .item = given[1], .key = Py_None, .hi = -1};
    /* `given` may end after the last argument that was passed. */
    if (optional && given[2]) {
        search->lo = assay_as_int64(given[2], PyExc_OverflowError);
        if (search->lo == -1 && PyErr_Occurred()) {
            return -1;
        }
        optional--;
    }
    if (optional && given[3]) {
        search->hi = given[3] == Py_None ? -1 : assay_as_int64(given[3], PyExc_OverflowError);
        if (search->hi == -1 && PyErr_Occurred()) {
            return -1;
        }
        optional--;
    }
    if (optional) {
        search->key = given[4];
    }
    return 0;
}

static PyObject *at(PyObject *sequence, long long place)
{
    PySequenceMethods *methods = Py_TYPE(sequence)->tp_as_sequence;
    if (methods && methods->sq_item && place <= PY_SSIZE_T_MAX) {
        return methods->sq_item(sequence, (Py_ssize_t)place);
    }
    if (!PySequence_Check(sequence)) {
        return PySequence_GetItem(sequence, 0);
    }
    PyObject *index = PyLong_FromLongLong(place);
    PyObject *item = index ? PyObject_GetItem(sequence, index) : NULL;
    Py_XDECREF(index);
    return item;
}

/* Returns `left < right` as 1 or 0, or -1 with an exception. */
static int is_less(PyObject *left, PyObject *right)
{
    richcmpfunc compare = Py_TYPE(left)->tp_richcompare;
    if (compare && Py_IS_TYPE(right, Py_TYPE(left))) {
        PyObject *answer = compare(left, right, Py_LT);
        if (answer == Py_True || answer == Py_False) {
            return answer == Py_True;
        }
        if (!answer) {
            return -1;
        }
        if (answer != Py_NotImplemented) {
            int is_true = PyObject_IsTrue(answer);
            Py_DECREF(answer);
            return is_true;
        }
    }
    return PyObject_RichCompareBool(left, right, Py_LT);
}

/* Returns whether the index for `item` is after `place`, or -1 with an exception. */
static int is_behind(const struct search *search, PyObject *item, enum side side, long long place)
{
    PyObject *there = at(search->sequence, place);
    if (there && search->key != Py_None) {
        Py_SETREF(there, PyObject_CallOneArg(search->key, there));
    }
    if (!there) {
        return -1;
    }
    int less = side == LEFT ? is_less(there, item) : is_less(item, there);
    Py_DECREF(there);
    return less < 0 || side == LEFT ? less : !less;
}

/* Returns the index for `item`, or -1 with an exception. */
static long long find(const struct search *search, PyObject *item, enum side side)
{
    long long lo = search->lo, hi = search->hi;
    if (lo < 0) {
        PyErr_SetString(PyExc_ValueError, "lo must be non-negative");
        return -1;
    }
    if (hi == -1) {
        hi = assay_length64(search->sequence);
        if (hi < 0) {
            return -1;
        }
    }
    if (Py_EnterRecursiveCall(" in bisect")) {
        return -1;
    }
    int behind = 0;
    while (lo < hi) {
        long long middle = (long long)(((unsigned long long)lo + (unsigned long long)hi) / 2);
        behind = is_behind(search, item, side, middle);
        if (behind < 0) {
            break;
        }
        if (behind) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    Py_LeaveRecursiveCall();
    return behind < 0 ? -1 : lo;
}

static PyObject *bisect(const struct search *search, enum side side)
{
    long long place = find(search, search->item, side);
    return place < 0 ? NULL : PyLong_FromLongLong(place);
}

static PyObject *insort(const struct search *search, enum side side)
{
    PyObject *item = search->key == Py_None ? Py_NewRef(search->item)
                                            : PyObject_CallOneArg(search->key, search->item);
    long long place = item ? find(search, item, side) : -1;
    Py_XDECREF(item);
    if (place < 0) {
        return NULL;
    }
    if (PyList_CheckExact(search->sequence)) {
        Py_ssize_t index = place < PY_SSIZE_T_MAX ? (Py_ssize_t)place : PY_SSIZE_T_MAX;
        return PyList_Insert(search->sequence, index, search->item) < 0 ? NULL : Py_NewRef(Py_None);
    }
    PyObject *nothing = PyObject_CallMethod(search->sequence, "insert", "LO", place, search->item);
    Py_XDECREF(nothing);
    return nothing ? Py_NewRef(Py_None) : NULL;
}

#define FUNCTION(name, action, side)                                                               \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count,               \
                          PyObject *keywords)                                                      \
    {                                                                                              \
        static _PyArg_Parser parser = {.keywords = names, .fname = #name};                         \
        struct search search;                                                                      \
        (void)module;                                                                              \
        return read_arguments(args, count, keywords, &parser, &search) < 0                         \
                   ? NULL                                                                          \
                   : action(&search, side);                                                        \
    }

FUNCTION(bisect_left, bisect, LEFT)
FUNCTION(bisect_right, bisect, RIGHT)
FUNCTION(insort_left, insort, LEFT)
FUNCTION(insort_right, insort, RIGHT)

#define SIGNATURE(name) #name "($module, /, a, x, lo=0, hi=None, *, key=None)\n--\n\n"
#define METHOD(name, text)                                                                         \
    {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS, SIGNATURE(name) text}

static PyMethodDef methods[] = {
    METHOD(bisect_left,
           "Return the index where to insert item x in list a, left of items equal to it."),
    METHOD(bisect_right,
           "Return the index where to insert item x in list a, right of items equal to it."),
    METHOD(insort_left, "Insert item x in list a, and keep it sorted, left of items equal to it."),
    METHOD(insort_right,
           "Insert item x in list a, and keep it sorted, right of items equal to it."),
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_bisect",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__bisect(void) { return PyModuleDef_Init(&definition); }
