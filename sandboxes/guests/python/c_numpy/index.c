/* Conversions between numpy's 32-bit indices and the 64-bit integers that programs see; and the
   floating-point flags. */
#define NPY_NO_DEPRECATED_API NPY_API_VERSION
#define _MULTIARRAYMODULE

#include <Python.h>

#include "numpy/arrayobject.h"
#include "numpy/arrayscalars.h"

#include "fenv.h"
#include "index.h"

int assay_floating_point_flags = 0;

static PyObject *
wide_array(PyArrayObject *narrow)
{
    if (PyArray_TYPE(narrow) != NPY_INTP) {
        return (PyObject *)narrow;
    }
    PyArray_Descr *type = PyArray_DescrFromType(NPY_LONGLONG);
    PyObject *wide = PyArray_CastToType(narrow, type, PyArray_ISFORTRAN(narrow));
    Py_DECREF(narrow);
    return wide;
}

PyObject *
assay_wide_indices(PyObject *result)
{
    if (result == NULL) {
        return NULL;
    }
    if (PyArray_Check(result)) {
        return wide_array((PyArrayObject *)result);
    }
    if (PyArray_IsScalar(result, Long)) {
        npy_longlong value = PyArrayScalar_VAL(result, Long);
        PyArray_Descr *type = PyArray_DescrFromType(NPY_LONGLONG);
        Py_DECREF(result);
        PyObject *wide = PyArray_Scalar(&value, type, NULL);
        Py_DECREF(type);
        return wide;
    }
    if (PyTuple_CheckExact(result)) {
        Py_ssize_t count = PyTuple_GET_SIZE(result);
        PyObject *wide = PyTuple_New(count);
        for (Py_ssize_t at = 0; wide != NULL && at < count; at++) {
            PyObject *part = assay_wide_indices(Py_NewRef(PyTuple_GET_ITEM(result, at)));
            if (part == NULL) {
                Py_CLEAR(wide);
                break;
            }
            PyTuple_SET_ITEM(wide, at, part);
        }
        Py_DECREF(result);
        return wide;
    }
    return result;
}

PyArrayObject *
assay_own_indices(PyArrayObject *array)
{
    if (array == NULL) {
        return NULL;
    }
    int type = PyArray_TYPE(array);
    if (type != NPY_LONGLONG && type != NPY_ULONGLONG) {
        return array;
    }
    PyArray_Descr *native = PyArray_DescrFromType(type);
    PyArrayObject *wide = (PyArrayObject *)PyArray_FromArray(
            array, native, NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_NOTSWAPPED);
    Py_DECREF(array);
    if (wide == NULL) {
        return NULL;
    }
    PyArrayObject *own = (PyArrayObject *)PyArray_SimpleNew(
            PyArray_NDIM(wide), PyArray_DIMS(wide), NPY_INTP);
    if (own != NULL) {
        npy_intp count = PyArray_SIZE(wide);
        npy_intp *to = (npy_intp *)PyArray_DATA(own);
        if (type == NPY_LONGLONG) {
            const npy_longlong *from = (const npy_longlong *)PyArray_DATA(wide);
            for (npy_intp at = 0; at < count; at++) {
                npy_longlong value = from[at];
                to[at] = value > NPY_MAX_INTP   ? NPY_MAX_INTP
                         : value < NPY_MIN_INTP ? NPY_MIN_INTP
                                                : (npy_intp)value;
            }
        }
        else {
            const npy_ulonglong *from = (const npy_ulonglong *)PyArray_DATA(wide);
            for (npy_intp at = 0; at < count; at++) {
                to[at] = from[at] > NPY_MAX_INTP ? NPY_MAX_INTP : (npy_intp)from[at];
            }
        }
    }
    Py_DECREF(wide);
    return own;
}
