/* Lengths, bounds and error numbers of 64-bit Linux: see wide.h. The host tool
 * is linked with this file too, where it has no effect.
 */
#include "wide.h"

#include "pycore_abstract.h"
#include "pycore_descrobject.h"
#include "pycore_long.h"
#include "pycore_object.h"
#include "pycore_parking_lot.h"

#include <errno.h>
#include <time.h>

Py_ssize_t assay_as_bound(PyObject *integer)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_OverflowError, "Python int too large to convert to C ssize_t");
        return -1;
    }
    return value > PY_SSIZE_T_MAX   ? PY_SSIZE_T_MAX
           : value < PY_SSIZE_T_MIN ? PY_SSIZE_T_MIN
                                    : (Py_ssize_t)value;
}

long long assay_as_int64(PyObject *item, PyObject *error)
{
    PyObject *integer = _PyNumber_Index(item);
    if (!integer) {
        return -1;
    }
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    if (overflow) {
        PyErr_Format(error, "cannot fit '%.200s' into an index-sized integer",
                     Py_TYPE(item)->tp_name);
        return -1;
    }
    return value;
}

/* The length that a class defines in Python. `__len__` is called a second time,
 * because the slot could not return its value. */
static PyObject *defined_length(PyObject *o, Py_ssize_t size)
{
    PyObject *method = _PyObject_LookupSpecial(o, &_Py_ID(__len__));
    if (!method || Py_IS_TYPE(method, &_PyMethodWrapper_Type)) {
        Py_XDECREF(method);
        return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(size);
    }
    PyObject *said = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (!said) {
        return NULL;
    }
    Py_SETREF(said, _PyNumber_Index(said));
    if (said && _PyLong_IsNegative((PyLongObject *)said)) {
        PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
        Py_CLEAR(said);
    }
    return said;
}

PyObject *assay_length(PyObject *o, Py_ssize_t size)
{
    if (size < PY_SSIZE_T_MAX) {
        return PyLong_FromSsize_t(size);
    }
    PyObject *length = PyRange_Check(o) ? assay_range_length(o) : defined_length(o, size);
    if (length && assay_as_bound(length) == -1 && PyErr_Occurred()) {
        Py_CLEAR(length);
    }
    return length;
}

long long assay_length64(PyObject *o)
{
    Py_ssize_t size = PyObject_Size(o);
    if (size < PY_SSIZE_T_MAX) {
        return size;
    }
    PyObject *length = assay_length(o, size);
    if (!length) {
        return -1;
    }
    long long value = PyLong_AsLongLong(length);
    Py_DECREF(length);
    return value;
}

Py_ssize_t assay_remainder(PyObject *integer, Py_ssize_t divisor)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_OverflowError, "Python int too large to convert to C ssize_t");
        return -1;
    }
    return divisor > 0 ? (Py_ssize_t)(value % divisor) : 0;
}

int assay_wait_alone(long long nanoseconds)
{
    if (nanoseconds < 0) {
        return Py_PARK_INTR;
    }
    struct timespec pause = {.tv_sec = nanoseconds / 1000000000,
                             .tv_nsec = nanoseconds % 1000000000};
    nanosleep(&pause, NULL);
    return Py_PARK_TIMEOUT;
}

int assay_refuse_wait(void)
{
    PyObject *error =
        PyObject_CallFunction(PyExc_RuntimeError, "s",
                              "this wait would never end: in the sandbox, `Thread.start` runs a "
                              "thread to completion before it returns");
    PyObject *limit = error ? Py_BuildValue("(ss)", "thread", "wait") : NULL;
    if (limit && PyObject_SetAttrString(error, "_assay_limit", limit) == 0) {
        PyErr_SetObject(PyExc_RuntimeError, error);
    }
    Py_XDECREF(limit);
    Py_XDECREF(error);
    return -1;
}

#ifdef __wasi__

struct number {
    int own;
    int linux;
};

/* All errors that both systems have, with their numbers on Linux x86-64. */
/* clang-format off */
static const struct number numbers[] = {
    {EPERM, 1},             {ENOENT, 2},            {ESRCH, 3},             {EINTR, 4},
    {EIO, 5},               {ENXIO, 6},             {E2BIG, 7},             {ENOEXEC, 8},
    {EBADF, 9},             {ECHILD, 10},           {EAGAIN, 11},           {ENOMEM, 12},
    {EACCES, 13},           {EFAULT, 14},           {EBUSY, 16},            {EEXIST, 17},
    {EXDEV, 18},            {ENODEV, 19},           {ENOTDIR, 20},          {EISDIR, 21},
    {EINVAL, 22},           {ENFILE, 23},           {EMFILE, 24},           {ENOTTY, 25},
    {ETXTBSY, 26},          {EFBIG, 27},            {ENOSPC, 28},           {ESPIPE, 29},
    {EROFS, 30},            {EMLINK, 31},           {EPIPE, 32},            {EDOM, 33},
    {ERANGE, 34},           {EDEADLK, 35},          {ENAMETOOLONG, 36},     {ENOLCK, 37},
    {ENOSYS, 38},           {ENOTEMPTY, 39},        {ELOOP, 40},            {ENOMSG, 42},
    {EIDRM, 43},            {ENOLINK, 67},          {EPROTO, 71},           {EMULTIHOP, 72},
    {EBADMSG, 74},          {EOVERFLOW, 75},        {EILSEQ, 84},           {ENOTSOCK, 88},
    {EDESTADDRREQ, 89},     {EMSGSIZE, 90},         {EPROTOTYPE, 91},       {ENOPROTOOPT, 92},
    {EPROTONOSUPPORT, 93},  {ENOTSUP, 95},          {EAFNOSUPPORT, 97},     {EADDRINUSE, 98},
    {EADDRNOTAVAIL, 99},    {ENETDOWN, 100},        {ENETUNREACH, 101},     {ENETRESET, 102},
    {ECONNABORTED, 103},    {ECONNRESET, 104},      {ENOBUFS, 105},         {EISCONN, 106},
    {ENOTCONN, 107},        {ETIMEDOUT, 110},       {ECONNREFUSED, 111},    {EHOSTUNREACH, 113},
    {EALREADY, 114},        {EINPROGRESS, 115},     {ESTALE, 116},          {EDQUOT, 122},
    {ECANCELED, 125},       {EOWNERDEAD, 130},      {ENOTRECOVERABLE, 131}, {ENOTCAPABLE, 1076},
};
/* clang-format on */

enum { KNOWN = sizeof numbers / sizeof *numbers };

int assay_linux_errno(int number)
{
    for (int at = 0; at < KNOWN; at++) {
        if (numbers[at].own == number) {
            return numbers[at].linux;
        }
    }
    return number;
}

/* 0 for an error number of Linux that WASI lacks. */
int assay_own_errno(int number)
{
    for (int at = 0; at < KNOWN; at++) {
        if (numbers[at].linux == number) {
            return numbers[at].own;
        }
    }
    return 0;
}

/* glibc's texts where those of wasi-libc differ. */
const char *assay_strerror(int number)
{
    switch (number) {
    case EDOM:
        return "Numerical argument out of domain";
    case ERANGE:
        return "Numerical result out of range";
    case ENOMEM:
        return "Cannot allocate memory";
    case EMFILE:
        return "Too many open files";
    case ENOTSUP:
        return "Operation not supported";
    case ESPIPE:
        return "Illegal seek";
    case EBUSY:
        return "Device or resource busy";
    case EXDEV:
        return "Invalid cross-device link";
    case ELOOP:
        return "Too many levels of symbolic links";
    case ENAMETOOLONG:
        return "File name too long";
    case ECHILD:
        return "No child processes";
    case ENOTCONN:
        return "Transport endpoint is not connected";
    case ETIMEDOUT:
        return "Connection timed out";
    case EIO:
        return "Input/output error";
    case ENOTTY:
        return "Inappropriate ioctl for device";
    case EOVERFLOW:
        return "Value too large for defined data type";
    case EILSEQ:
        return "Invalid or incomplete multibyte or wide character";
    default:
        return strerror(number);
    }
}

#else

int assay_linux_errno(int number) { return number; }

int assay_own_errno(int number) { return number; }

const char *assay_strerror(int number) { return strerror(number); }

#endif
