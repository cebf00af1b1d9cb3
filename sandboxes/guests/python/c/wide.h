/* 64-bit integers where CPython uses Py_ssize_t, which has 32 bits here.
 * Programs use lengths and bounds of 64-bit systems: a bound that no object
 * here can reach is clamped to the largest Py_ssize_t, and lengths of ranges,
 * which need no memory, are exact.
 */
#ifndef ASSAY_WIDE_H
#define ASSAY_WIDE_H

#include "Python.h"

/* A bound or an amount: a 64-bit int, clamped to a Py_ssize_t. -1 with
 * OverflowError beyond 64 bits. An allocation of the clamped size fails just
 * like one of the original size. */
Py_ssize_t assay_as_bound(PyObject *integer);

/* An index as a 64-bit integer; -1 with `error` beyond 64 bits. */
long long assay_as_int64(PyObject *item, PyObject *error);

/* The length of `o` as an int; `size` is the result of PyObject_Size. */
PyObject *assay_length(PyObject *o, Py_ssize_t size);

/* The length as a 64-bit integer; -1 with an exception if there is none. */
long long assay_length64(PyObject *o);

/* The int `length` of a range; in rangeobject.c. */
PyObject *assay_range_length(PyObject *range);

/* An int modulo a divisor above 0; -1 if an exception is set, but also a
 * possible result. */
Py_ssize_t assay_remainder(PyObject *integer, Py_ssize_t divisor);

/* A read of this size or more reads to the end: no stream here is that long,
 * and a buffer of that size would be allocated at once. */
#define ASSAY_WHOLE_STREAM (1 << 27)

/* Maximum number of bytes that a read of a part of a stream returns. */
#define ASSAY_PART_OF_STREAM (1 << 22)

/* The code of `struct` whose native size here is what `code` has on 64-bit
 * systems. */
static inline char assay_native_code(char code)
{
    switch (code) {
    case 'l':
    case 'n':
        return 'q';
    case 'L':
    case 'N':
    case 'P':
        return 'Q';
    default:
        return code;
    }
}

/* There is no other thread. A wait with a timeout sleeps. A wait without a
 * timeout would never end, so `assay_refuse_wait` raises an exception. */
int assay_wait_alone(long long nanoseconds);
int assay_refuse_wait(void);

/* Programs see the error numbers of Linux: these functions translate from and
 * to those of the C library. */
int assay_linux_errno(int number);
int assay_own_errno(int number);

/* The text of Linux's C library for an error of WASI. */
const char *assay_strerror(int number);

#endif
