/* Makes all objects of the snapshot immortal, so that using them does not
 * write to their reference counts.
 *
 * The pages of an image are shared until they are written to, and a reference
 * count lies in the object: without this, calling a function of the library
 * copies the pages of the function, of its type, its code and its constants.
 * None of these objects is freed in a run, so nothing is lost.
 */
#include "Python.h"

static void make_immortal(PyObject *object);

static int visit_referent(PyObject *object, void *unused)
{
    (void)unused;
    if (object && !_Py_IsImmortal(object)) {
        make_immortal(object);
    }
    return 0;
}

/* Code objects are unknown to the garbage collector. */
static void visit_code(PyCodeObject *code)
{
    PyObject *parts[] = {
        code->co_consts,          code->co_names,     code->co_localsplusnames,
        code->co_localspluskinds, code->co_filename,  code->co_name,
        code->co_qualname,        code->co_linetable, code->co_exceptiontable,
    };
    for (size_t index = 0; index < Py_ARRAY_LENGTH(parts); index++) {
        visit_referent(parts[index], NULL);
    }
}

static void make_immortal(PyObject *object)
{
    object->ob_refcnt = _Py_IMMORTAL_REFCNT;
    if (PyCode_Check(object)) {
        visit_code((PyCodeObject *)object);
    } else if (PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object) &&
               Py_TYPE(object)->tp_traverse) {
        /* Tuples and dictionaries without references to tracked objects. */
        Py_TYPE(object)->tp_traverse(object, visit_referent, NULL);
    }
}

static int visit_tracked(PyObject *object, void *unused)
{
    (void)unused;
    object->ob_refcnt = _Py_IMMORTAL_REFCNT;
    if (Py_TYPE(object)->tp_traverse) {
        Py_TYPE(object)->tp_traverse(object, visit_referent, NULL);
    }
    return 1;
}

void assay_make_immortal(void) { PyUnstable_GC_VisitObjects(visit_tracked, NULL); }
