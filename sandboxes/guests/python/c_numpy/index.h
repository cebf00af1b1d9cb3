/* Indices of 64 bits in arrays, as on 64-bit Linux. numpy's own have the 32 bits of a pointer. */
#ifndef ASSAY_NUMPY_INDEX_H
#define ASSAY_NUMPY_INDEX_H

#include "numpy/ndarraytypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a function that returns indices or counts, with 64 bits: an array or scalar, or a
   tuple of them. Steals the reference; `NULL` stays `NULL`. */
PyObject *assay_wide_indices(PyObject *result);

/* An array of 64-bit integers as indices. Values that no index reaches become the largest or
   smallest one, so that they are still out of bounds. Other arrays are returned as they are. Steals
   the reference; `NULL` stays `NULL`. */
PyArrayObject *assay_own_indices(PyArrayObject *array);

#ifdef __cplusplus
}
#endif

#endif
