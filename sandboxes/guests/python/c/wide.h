/* Integers of 64 bits where CPython takes a Py_ssize_t, which has 32 bits
 * here. Programs know lengths and bounds as 64-bit systems have them: a bound
 * that no object here can reach is taken as the largest there is, and lengths
 * of ranges, which need no memory, are exact.
 */
#ifndef ASSAY_WIDE_H
#define ASSAY_WIDE_H

#include "Python.h"

/* A bound or an amount: an int of 64 bits as a Py_ssize_t, the nearest one if
 * it has more than 32. -1 with OverflowError beyond 64 bits. For what is asked
 * of memory the nearest is as impossible as the number itself. */
Py_ssize_t assay_as_bound(PyObject *integer);

/* What can be used as an index, as 64 bits; -1 with `error` beyond them. */
long long assay_as_int64(PyObject *item, PyObject *error);

/* The length of `o` as an int, where `size` is what PyObject_Size said. */
PyObject *assay_length(PyObject *o, Py_ssize_t size);

/* The same as 64 bits; -1 with an exception when there is none. */
long long assay_length64(PyObject *o);

/* The int `length` of a range; in rangeobject.c. */
PyObject *assay_range_length(PyObject *range);

/* An int modulo a divisor above 0; -1 may be an exception. */
Py_ssize_t assay_remainder(PyObject *integer, Py_ssize_t divisor);

/* Size of a request to read that stands for all there is: no stream here has
 * as much, and room for it would be set aside at once. */
#define ASSAY_WHOLE_STREAM (1 << 27)

/* Most that a request for a part of a stream gets at once. */
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

/* There is no other thread. Waiting with a timeout is sleeping; without one it
 * would last for ever, and is an exception that `assay_refuse_wait` raises. */
int assay_wait_alone(long long nanoseconds);
int assay_refuse_wait(void);

/* Numbers of errors are those of Linux for programs: these translate from and
 * to the C library's. */
int assay_linux_errno(int number);
int assay_own_errno(int number);

/* What Linux's C library says of an error of WASI's. */
const char *assay_strerror(int number);

#endif
